"""Looks at an HTML report as a reader does: python3 report.py REPORT.html FOLDER, in headless Chromium by playwright.

Nothing is asked of the network, no script runs, the picture is not blank, text stands out from its ground in light and dark,
headings do not skip a level, tables and figures are named, nothing is wider than a phone, and it prints on sensible pages.
"""

import pathlib
import re
import shutil
import sys

from PIL import Image
from playwright.sync_api import sync_playwright

# Contrast of the text of each element against the nearest ground that is painted (WCAG 2.2); gives what stands out too little.
FAINT = """() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] > 0.99) return found;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255];
  };
  const faint = [];
  let texts = 0;
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].filter((c) => c.nodeType === 3).map((c) => c.data.trim()).join(' ').trim();
    const box = node.getBoundingClientRect();
    if (!own || !box.width || node.closest('title, desc, style')) continue;
    texts += 1;
    const style = getComputedStyle(node);
    const [a, b] = [light(rgb(node.closest('svg') ? style.fill : style.color)), light(ground(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (contrast < least) faint.push(`${node.tagName} ${own.slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return [texts, faint];
}"""


def main(report: pathlib.Path, out: pathlib.Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 800})
            asked, wrong = [], []
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: wrong.append(message.text))
            page.goto(report.resolve().as_uri())
            page.evaluate("document.querySelectorAll('details').forEach((it) => it.open = true)")
            assert len(asked) == 1 and not wrong, (asked, wrong)
            texts, faint = page.evaluate(FAINT)
            assert texts > 100, f"{texts} texts"
            assert not faint, f"{scheme}: text that stands out too little: {faint}"
            picture = out / f"{scheme}.png"
            page.screenshot(path=picture, full_page=True)
            colours = Image.open(picture).convert("RGB").getcolors(1 << 24)
            most = max(number for number, _ in colours) / sum(number for number, _ in colours)
            assert len(colours) > 50 and 0.3 < most < 0.995, f"{picture} is blank: {len(colours)} colours, {most:.3f}"
            page.close()
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.goto(report.resolve().as_uri())
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((h) => Number(h.tagName[1]))")
        assert levels.count(1) == 1 and levels[0] == 1, levels
        assert all(after - before <= 1 for before, after in zip(levels, levels[1:])), levels
        unnamed = page.evaluate("""[...document.querySelectorAll('table')].filter((t) => !t.caption && !t.ariaLabel).length
            + [...document.querySelectorAll('th')].filter((h) => !h.scope).length
            + [...document.querySelectorAll('svg')].filter((s) => !s.querySelector('title') || !s.querySelector('desc')).length
            + document.querySelectorAll('script').length + (document.documentElement.lang ? 0 : 1)""")
        assert unnamed == 0, f"{unnamed} tables, headings of tables or figures have no name"
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"on a phone the page is {wide} pixels too wide"
        page.pdf(path=out / "report.pdf", format="A4")
        pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", (out / "report.pdf").read_bytes()))
        assert 2 <= pages <= 14, f"{pages} pages"
        browser.close()
    print(f"{report.name}: {texts} texts, {len(levels)} headings, {pages} pages of A4")


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
