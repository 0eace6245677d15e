"""Fixtures: one lake and one Spark session for the whole run, a fresh namespace for each test."""
import os
import shutil
import subprocess
import tempfile

import pytest

import engines
from firn import PROGRAM, Firn
from lake import Lake

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def pytest_sessionstart(session):
    if not os.access(PROGRAM, os.X_OK):
        pytest.exit(f"no firn at {PROGRAM}: build it or set FIRN", returncode=2)


@pytest.fixture(scope="session")
def folder():
    """A place below the temporary directory that other users may enter, for the tests that run firn as one of them."""
    path = tempfile.mkdtemp(prefix="firn-interop-")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def lake(folder):
    return Lake(os.path.join(folder, "lake"))


@pytest.fixture
def namespace(lake):
    return lake.new_namespace()


@pytest.fixture(scope="session")
def firn(lake):
    return Firn(lake.folder)


@pytest.fixture(scope="session")
def duck():
    with engines.start_duckdb() as connection:
        yield connection


@pytest.fixture(scope="session")
def spark(lake):
    session = engines.start_spark(lake)
    yield session
    session.stop()


@pytest.fixture
def as_nobody(folder, lake):
    """firn as a user without rights to the lake; the lake's files stay readable."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root to become another user")
    program = os.path.join(folder, "firn")
    shutil.copy(PROGRAM, program)
    os.chmod(program, 0o755)
    subprocess.run(["chmod", "-R", "a+rX", lake.folder], check=True)
    return Firn(lake.folder, program, NOBODY)
