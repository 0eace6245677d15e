"""Running programs and counting what they take, for all benchmarks."""
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
INTEROP = os.path.join(os.path.dirname(HERE), "tests", "interop")
THREADS = len(os.sched_getaffinity(0))
MB = 1000 * 1000


class Measure:
    """One process run to its end, as the kernel counted it."""

    def __init__(self, command, environment=None, stdout=subprocess.DEVNULL):
        start = time.monotonic()
        with open(os.devnull, "rb") as nothing:
            process = subprocess.Popen(command, stdin=nothing, stdout=stdout, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{command[0]} failed with status {process.returncode}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024
        self.written = usage.ru_oublock * 512  # temporary files included, unless they lie in memory
        self.bytes = self.files = 0


def medians(measured):
    """Of several measurements of the same numbers, each number's median."""
    return [statistics.median(numbers) for numbers in zip(*measured)]


def warm(paths):
    """Reads files once, so that all programs find them in the page cache."""
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def chill(paths):
    """Takes files out of the page cache, so that programs must read them from the disk. Needs no privilege."""
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)  # what is not written yet would stay
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def open_many_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def parse_and_make(parser, make):
    """The arguments, and what `make` gives for them: a thing whose own make() has run, in a process apart, since a child begins with its
    parent's peak memory."""
    parser.add_argument("--generate", action="store_true", help="make what is needed and stop")
    arguments = parser.parse_args()
    open_many_files()
    made = make(arguments)
    if arguments.generate:
        made.make()
        sys.exit()
    subprocess.run([sys.executable, sys.argv[0], "--generate", *sys.argv[1:]], check=True)
    return arguments, made


SPARK_BEGIN = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
import engines, lake
lake.NAME = engines.NAME = "bench"
class Home: pass
home = Home()
home.folder, home.database, home.warehouse = sys.argv[2], sys.argv[2] + "/catalog.db", sys.argv[3]
spark = engines.start_spark(home, CORES)

def used():
    "Seconds and CPU seconds of Spark's process until now."
    with open(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return time.monotonic(), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

def since(begin):
    "The same since an earlier moment."
    return [now - then for now, then in zip(used(), begin)]
""".replace("CORES", str(THREADS))
SPARK_END = """
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
gateway.proc.wait()  # or the kernel would not count it
"""


def spark_jars():
    return os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "jars")


def measure_spark(body, folder, warehouse, *arguments, stdout=None):
    """Measures a program that finds a session as `spark`, and the arguments from sys.argv[4] on."""
    return Measure([sys.executable, "-c", SPARK_BEGIN + body + SPARK_END, INTEROP, folder, warehouse, *arguments],
                   {**os.environ, "FIRN_JARS": spark_jars()}, stdout=stdout)
