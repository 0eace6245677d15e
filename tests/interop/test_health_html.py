"""firn health --html in a browser: it looks as it should on a phone and on a desktop, in the light and in the dark, asks for
nothing, and takes names for what they are."""
import html.parser
import json
import os
import re
import stat

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from browser import Browser, find_browser
from firn import FAILED, PARTIAL, USAGE
from lake import full_name
from paper_table import MIB, entry, healthy_table, live_through, paper_table, sick_table, wide_table

PHONE, DESKTOP = 360, 1280
SCRIPT_IN_A_NAME = "a<script>alert(1)</script>\"'&amp;<img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def browser():
    program = find_browser()
    if not program:
        pytest.skip("no Chromium: scripts/install-deps.sh test")
    browser = Browser(program)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def pages(lake, firn, tmp_path_factory):
    """The pages of a sick table, a healthy one, an empty one and one of 5,000 partitions; and one of them all."""
    folder = tmp_path_factory.mktemp("pages")
    namespace = lake.new_namespace()
    sick_table(lake, f"{namespace}.sick")
    healthy_table(lake, f"{namespace}.healthy")
    wide_table(lake, f"{namespace}.wide")
    paper_table(lake, f"{namespace}.empty")
    names = ["sick", "healthy", "wide", "empty"]
    for name in names:
        firn("--quiet", "health", full_name(f"{namespace}.{name}"), "--html", str(folder / f"{name}.html"))
    firn("--quiet", "health", *(full_name(f"{namespace}.{name}") for name in [*names, "gone"]), "--html",
         str(folder / "all.html"), status=PARTIAL)
    return folder


def check_layout(browser):
    assert browser.complaints() == []
    assert len(browser.requests()) == 1  # the page itself
    assert browser.value("document.documentElement.scrollWidth <= window.innerWidth")
    boxes = browser.value("[...document.querySelectorAll('svg.plot, svg.score')].map(svg => svg.getBoundingClientRect())"
                          ".map(box => [box.width, box.height])")
    assert all(width > 60 and height > 60 for width, height in boxes), boxes
    bars = browser.value("[...document.querySelectorAll('svg.bar')].map(svg => svg.getBoundingClientRect().width)")
    assert all(100 < width < 700 for width in bars), bars
    # No text leaves the card it is in, but where it can be scrolled.
    outside = browser.value("""[...document.querySelectorAll('.chart, .finding, .tile, .verdict, .overview')].filter(card => {
        const right = card.getBoundingClientRect().right;
        return [...card.querySelectorAll('*')].some(part => !part.closest('.scroll') && !part.closest('svg') &&
                                                            !part.closest('.sr') && part.getBoundingClientRect().right > right + 1);
    }).map(card => card.className)""")
    assert outside == []


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("name", ["sick", "healthy", "wide", "empty", "all"])
def test_layout(browser, pages, name, width):
    browser.open(pages / f"{name}.html", width)
    check_layout(browser)
    plots = browser.value("document.querySelectorAll('svg.plot').length")
    assert plots == {"sick": 5, "healthy": 5, "wide": 5, "empty": 0, "all": 15}[name]


LUMINANCE = """
function luminance(color) {
  const parts = color.match(/[\\d.]+/g).slice(0, 3).map(part => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}
function ground(part) {
  for (; part; part = part.parentElement) {
    const color = getComputedStyle(part).backgroundColor;
    if (!/, 0\\)$/.test(color)) return color;
  }
}
function contrast(part) {
  const style = getComputedStyle(part), tones = [luminance(part.closest('svg') ? style.fill : style.color), luminance(ground(part))];
  return (Math.max(...tones) + 0.05) / (Math.min(...tones) + 0.05);
}
[...document.querySelectorAll('body *')]
  .filter(part => [...part.childNodes].some(node => node.nodeType === 3 && node.data.trim()) && !part.closest('script, style, title'))
  .map(part => [contrast(part), part.tagName, part.className.baseVal ?? part.className, part.textContent.slice(0, 40)])
  .filter(([value]) => value < 4.5)
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["sick", "all"])
def test_contrast(browser, pages, name, dark):
    browser.open(pages / f"{name}.html", DESKTOP, dark=dark)
    assert browser.value(LUMINANCE) == []


def test_dark_is_dark(browser, pages):
    seen = {}
    for dark in (False, True):
        browser.open(pages / "sick.html", DESKTOP, dark=dark)
        seen[dark] = browser.value("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color, "
                                   "getComputedStyle(document.querySelector('.chart')).backgroundColor]")
    assert all(light != dark for light, dark in zip(seen[False], seen[True]))


def test_paper_is_light(browser, pages):
    browser.open(pages / "sick.html", 800, dark=True)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    colors = browser.value("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color, "
                           "getComputedStyle(document.querySelector('.command button')).display]")
    browser.call("Emulation.setEmulatedMedia", media="")
    assert colors == ["rgb(255, 255, 255)", "rgb(0, 0, 0)", "none"]


def test_accessible(browser, pages):
    """What a person who does not see the page is told."""
    browser.open(pages / "all.html", DESKTOP)
    assert browser.value("document.documentElement.lang") == "en" and "5 tables" in browser.value("document.title")
    assert browser.value("[...document.querySelectorAll('svg')].filter(svg => !svg.getAttribute('aria-hidden') && "
                         "!(svg.getAttribute('role') === 'img' && svg.getAttribute('aria-label'))).length") == 0
    assert browser.value("[...document.querySelectorAll('section')].every(section => document.getElementById(section.getAttribute('aria-labelledby')))")
    assert browser.value("new Set([...document.querySelectorAll('[id]')].map(part => part.id)).size === document.querySelectorAll('[id]').length")
    levels = browser.value("[...document.querySelectorAll('h2, h3, h4')].map(part => +part.tagName[1])")
    assert all(after <= before + 1 for before, after in zip([1, *levels], levels))
    assert browser.value("[...document.querySelectorAll('a[href^=\"#\"]')].every(link => document.querySelector(link.getAttribute('href')))")


def test_overview_is_worst_first(browser, pages):
    browser.open(pages / "all.html", PHONE)
    names = browser.value("[...document.querySelectorAll('.lines .name')].map(part => part.textContent)")
    assert [name.rsplit(".", 1)[1] for name in names][0] == "gone"
    assert {name.rsplit(".", 1)[1] for name in names[1:3]} == {"sick", "wide"}
    assert "no table" in browser.value("document.querySelector('.line.broken .remark').textContent")


def test_commands_can_be_copied(browser, pages, firn):
    browser.open(pages / "sick.html", DESKTOP)
    commands = browser.value("[...document.querySelectorAll('.command code')].map(part => part.textContent)")
    assert any(command.startswith("firn rewrite-data-files lake.") for command in commands)
    assert any(command.startswith("CALL lake.system.rewrite_data_files(table => '") for command in commands)
    assert browser.value("document.querySelectorAll('.command button').length") == len(commands)
    browser.value("document.querySelector('.command button').click()")
    assert browser.value("new Promise(done => setTimeout(() => done(document.querySelector('.command button').textContent), 300))") in (
        "Copied", "Selected")
    browser.open(pages / "sick.html", DESKTOP, scripts=False)
    assert browser.complaints() == []


class Markup(html.parser.HTMLParser):
    """Elements, attributes and texts as a parser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def hostile_table(lake, namespace, text):
    """Table, columns, partitions and writers that are called things. (A name with a slash is a location.)"""
    schema = Schema(NestedField(1, text, LongType(), required=False), NestedField(2, "day", StringType(), required=False))
    table = paper_table(lake, f"{namespace}.{text.replace('/', '')}", schema, PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"), spec_id=0))
    table.commit([entry(table, day, MIB, 0, 9) for day in (text, "\u202etxt.exe", "\0\x1b[31m", "x" * 400) for _ in range(9)], operation="append")
    live_through(table, 3, 1000, writer=text)
    return table


def test_hostile_names(browser, lake, firn, namespace, tmp_path):
    table = hostile_table(lake, namespace, SCRIPT_IN_A_NAME)
    lake.load(table.identifier).manage_snapshots().create_tag(2, "t<b>ag").commit()
    page = tmp_path / "page.html"
    firn("health", full_name(table.identifier), "--html", str(page), "--threshold", "ref-days.healthy=0")
    text = page.read_text(encoding="utf-8")
    markup = Markup(text)
    assert "img" not in markup.tags and markup.tags.count("script") == 1
    assert not any(name.startswith("on") or name in ("srcset", "style") for name, _ in markup.attributes)
    assert any(SCRIPT_IN_A_NAME in data for data in markup.texts)
    assert not re.search("[\0\x1b\u202e]", text)
    for width in (PHONE, DESKTOP):
        browser.open(page, width)
        check_layout(browser)
        assert browser.value("document.querySelector('h2').textContent").endswith(SCRIPT_IN_A_NAME.replace("/", ""))


def test_policy_keeps_foreign_scripts_out(browser, pages, tmp_path):
    """Were something not escaped, the page's own policy would still keep it from running."""
    text = (pages / "healthy.html").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text(text.replace("</main>", "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\"></main>"))
    browser.open(page, DESKTOP)
    assert browser.value("document.title") != "taken" and browser.complaints()


def test_numbers_are_those_of_json(lake, firn, namespace, tmp_path):
    table = healthy_table(lake, f"{namespace}.t")
    page = tmp_path / "page.html"
    report = firn("--output", "json", "health", full_name(table.identifier), "--html", str(page)).json
    texts = " ".join(Markup(page.read_text(encoding="utf-8")).texts)
    assert f"{report['survey']['data']['files']:,}" in texts and f"{report['survey']['data']['rows']:,} rows" in texts
    assert report["state"] == "healthy" and "healthy" in texts
    assert json.dumps(report)  # standard output is still the report, whole


def test_file_is_written_whole_or_not_at_all(lake, firn, namespace, tmp_path, as_nobody):
    table = full_name(healthy_table(lake, f"{namespace}.t").identifier)
    page = tmp_path / "new" / "page.html"
    firn("health", table, "--html", str(page))
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    page.write_text("old")
    firn("health", table, "--html", str(page))
    assert len(page.read_text(encoding="utf-8")) > 10000 and os.listdir(page.parent) == ["page.html"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for name in (tmp_path, pipe, ""):
        assert "--html" in firn("health", table, "--html", str(name), status=USAGE).err
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    refused = as_nobody("health", table, "--html", "/proc/page.html", status=tuple(range(FAILED, 9)))
    assert "page of health" in refused.err and "healthy" in refused.out
