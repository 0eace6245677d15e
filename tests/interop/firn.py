"""Runs the firn program as a person would, and says plainly what it printed when it did something else than expected."""
import json
import os
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(os.environ.get("FIRN") or os.path.join(ROOT, "build", "src", "cli", "firn"))

# Exit statuses of include/firn/status.h.
OK, FAILED, USAGE, NOT_FOUND, CONFLICT, UNKNOWN, CORRUPT, PARTIAL, BUSY = range(9)

# How many seconds anything may take before it counts as hanging: far more than the slowest and busiest machine needs.
PATIENCE = 900


class Run:
    def __init__(self, arguments, status, out, err):
        self.arguments = arguments
        self.status = status
        self.out = out
        self.err = err

    def __str__(self):
        return f"firn {' '.join(self.arguments)}\nstatus {self.status}\nstdout: {self.out[-3000:]}\nstderr: {self.err[-3000:]}"

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as problem:
            raise AssertionError(f"not JSON ({problem}): {self}") from problem

    @property
    def error_lines(self):
        """What the person is told, without progress."""
        return [line for line in self.err.split("\n") if line.strip()]


class Firn:
    """firn with the configuration in `home` and nothing of the caller's environment."""

    def __init__(self, home, program=PROGRAM, prefix=()):
        self.command = [*prefix, program]
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "PYICEBERG_HOME": home, "TZ": "America/Sao_Paulo"}

    def start(self, *arguments):
        return subprocess.Popen([*self.command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment)

    def kill_when(self, happened, *arguments):
        """Starts firn and kills it once `happened()`; gives whether what it left behind is that, or it came to its end before."""
        process = self.start(*arguments)
        while process.poll() is None and not happened():
            time.sleep(0.0005)
        process.kill()
        process.communicate()
        return happened()

    def __call__(self, *arguments, status=OK, timeout=PATIENCE):
        """Runs to the end; `status` is the exit status wanted, or several of them."""
        done = subprocess.run([*self.command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, env=self.environment)
        run = Run(arguments, done.returncode, done.stdout, done.stderr)
        wanted = status if isinstance(status, (tuple, list)) else (status,)
        assert run.status in wanted, f"wanted status {wanted}\n{run}"
        return run

    def compact(self, table, *arguments, options=(), **how):
        """rewrite-data-files; gives its report."""
        pairs = [text for key, value in dict(options).items() for text in ("--option", f"{key}={value}")]
        return self("--quiet", "--output", "json", "rewrite-data-files", table, *pairs, *arguments, **how).json

    def describe(self, table, *arguments, **how):
        return self("--quiet", "--output", "json", "describe", table, *arguments, **how).json
