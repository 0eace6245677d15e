"""Seeds of random cases: the same at every run, so that what passed once passes again; FIRN_SEED asks for others."""
import os
import random


def first_seed(usual):
    """FIRN_SEED, a number or "random"; without it the usual one."""
    given = os.environ.get("FIRN_SEED") or usual
    return random.SystemRandom().randrange(10**6) if given == "random" else int(given)
