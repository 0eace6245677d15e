"""The articles whose maintenance scripts must run as they stand: their CALL statements, and catalogs of the names they use."""
import os
import re
import tempfile

from pyiceberg.catalog.sql import SqlCatalog

from firn import ROOT

SEEDS = os.environ.get("FIRN_SEEDS") or os.path.join(ROOT, "..", "shared", "seeds")


def call_blocks(name):
    """The CALL statements of an article, from the word to the semicolon, with the comments between."""
    with open(os.path.join(SEEDS, name), encoding="utf-8") as file:
        return re.findall(r"^(?:--.*\n)*CALL [^;]*;", file.read(), re.MULTILINE)


ARTICLES = [("000_14fb6f69e1b88544.txt", "catalog", "db.txn", 5), ("002_fa7259357115279e.txt", "iceberg", "ods.event_log", 6)]


def catalog_of_article(folder, catalog, identifier):
    """A catalog of the article's name with its table."""
    place = tempfile.mkdtemp(prefix=f"article-{catalog}-", dir=folder)
    properties = {"uri": f"sqlite:///{place}/catalog.db", "warehouse": f"file://{place}/warehouse"}
    with open(os.path.join(place, ".pyiceberg.yaml"), "w", encoding="utf-8") as file:
        file.write(f"catalog:\n  {catalog}:\n    type: sql\n")
        file.writelines(f"    {key}: {value}\n" for key, value in properties.items())
    opened = SqlCatalog(catalog, **properties)
    opened.create_namespace(identifier.split(".")[0])
    return place, opened
