"""The page of `inspect` in a browser: what it draws beside formulas typed from the kernel's source, every control,
nothing in the console, and nothing that leaves the page."""

from __future__ import annotations

import colorsys
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from browser.browsing import complaints_of, requests_of, resize, started
from campaign.fault import plant
from campaign.synchronisation import BARRIERS
from msgspec.structs import replace
from numpy.typing import NDArray
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from layoutprobe.assets import asset_dir
from layoutprobe.inspector.inspect import Inspection, inspect, look_into
from layoutprobe.inspector.timeline import KINDS, page_of
from layoutprobe.recording.file import read_recording, write_recording
from layoutprobe.render import formats
from layoutprobe.report.kernel_view import KernelView

pytestmark = pytest.mark.browser
SEEDS = Path(asset_dir("probes")) / "gemm" / "seeds"
GEMM = Path(__file__).resolve().parents[2] / "docs" / "gemm64.toml"
SIZE = {"M": 128, "N": 128, "K": 32}
NASTY = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u202e"


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with started(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def kernel() -> Inspection:
    return inspect(SEEDS / "buggy.toml", "asmOpt-column", size=SIZE)


@pytest.fixture(scope="module")
def view(kernel: Inspection) -> KernelView:
    return kernel.view()


@pytest.fixture(scope="module")
def page(view: KernelView, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(view, tmp_path_factory.mktemp("page"))


@pytest.fixture
def opened(chrome: Chrome, page: str) -> Iterator[Chrome]:
    """The page, just opened; at the end nothing was asked of anybody, and nothing was complained of."""
    resize(chrome, 1500, 1000)
    complaints_of(chrome), requests_of(chrome)
    chrome.get(page)
    yield chrome
    assert complaints_of(chrome) == []
    assert requests_of(chrome) == [page]


def written(view: KernelView, folder: Path) -> str:
    """Address of the page of a view."""
    stream = io.StringIO()
    formats.find("sites", "html").write(view, stream)
    (folder / "kernel.html").write_text(stream.getvalue(), encoding="utf-8")
    return (folder / "kernel.html").as_uri()


def settled(chrome: Chrome) -> None:
    """All views are drawn."""
    chrome.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    )


def click(chrome: Chrome, element: WebElement) -> None:
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()
    settled(chrome)


def button(chrome: Chrome, text: str, within: str = "") -> WebElement:
    path = f"//*[contains(@class, '{within}')]" if within else ""
    return chrome.find_element(By.XPATH, f"{path}//button[normalize-space()='{text}']")


def slots(chrome: Chrome) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """What the operand's grid shows: held [lane, slot, 2], wrong [lane, slot], needed where wrong, else -1."""
    read = chrome.execute_script(
        "return [...document.querySelectorAll('.fragment tbody tr')].map(row =>"
        " [...row.querySelectorAll('td')].map(cell => [cell.firstChild.textContent,"
        " cell.classList.contains('wrong'), cell.querySelector('small')?.textContent ?? '-1,-1']))"
    )
    held = np.array([[[int(i) for i in cell[0].split(",")] for cell in row] for row in read])
    need = np.array([[[int(i) for i in cell[2].split(",")] for cell in row] for row in read])
    return held, np.array([[cell[1] for cell in row] for row in read]), need


@pytest.mark.parametrize("wave", [0, 3, 6])
def test_a_wrong_operand_is_red_where_it_is_wrong(opened: Chrome, wave: int) -> None:
    """asmOpt.hip with COLUMN_LOAD: A[k][row] of a tile where A[row][k] belongs. Wave w has rows 32*(w/2)..., the
    second instruction of four the next 16 of B; lane l row (column) l % 16; a half a k (RDNA3 ISA guide, 7.9)."""
    click(opened, opened.find_element(By.CSS_SELECTOR, f".moment .choices button:nth-child({wave + 1})"))
    lane, k = np.indices((32, 16))
    for step in range(8):
        held, wrong, need = slots(opened)
        row0 = 32 * (wave // 2) + 16 * (step % 4 // 2)
        k0 = 16 * (step // 4)
        assert np.array_equal(held[..., 0], row0 + k), step
        assert np.array_equal(held[..., 1], k0 + lane % 16), step
        # No output reads the copies of odd rows in the lower half-wave, and of even ones in the upper.
        live = lane % 2 == lane // 16
        assert np.array_equal(wrong, live & (k != lane % 16)), step
        assert np.array_equal(need[..., 0], np.where(wrong, row0 + lane % 16, -1)), step
        assert np.array_equal(need[..., 1], np.where(wrong, k0 + k, -1)), step
        opened.find_element(By.TAG_NAME, "body").send_keys(".")
        settled(opened)


def test_a_right_operand_has_no_red_slot(opened: Chrome) -> None:
    for matrix in "BC":
        click(opened, button(opened, matrix, "operand"))
        held, wrong, _ = slots(opened)
        assert not wrong.any()
        lane, slot = np.indices(wrong.shape)
        if matrix == "B":
            assert np.array_equal(held, np.stack([slot, lane % 16], axis=-1))
        else:
            assert np.array_equal(held, np.stack([2 * slot + lane // 16, lane % 16], axis=-1))


def transposed_tiles(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Every 16 x 16 tile transposed in place, which is what the source says of the bug."""
    rows, cols = matrix.shape
    tiles = matrix.reshape(rows // 16, 16, cols // 16, 16)
    return tiles.transpose(0, 3, 2, 1).reshape(rows, cols)


def choose(chrome: Chrome, row: int, col: int) -> None:
    """Click an element of the map."""
    canvas = chrome.find_element(By.CSS_SELECTOR, ".output canvas")
    chrome.execute_script(
        "const [canvas, row, col] = arguments, box = canvas.getBoundingClientRect();"
        "canvas.dispatchEvent(new MouseEvent('click', {clientX: box.left + (col + .5) / 128 * box.width,"
        " clientY: box.top + (row + .5) / 128 * box.height}))",
        canvas,
        row,
        col,
    )
    settled(chrome)


def red_elements(chrome: Chrome) -> NDArray[np.bool_]:
    """Elements of the map of 128 x 128 whose middle is more red than green."""
    red = chrome.execute_script(
        "const canvas = document.querySelector('.output canvas'), n = canvas.width / 128;"
        "const copy = new OffscreenCanvas(canvas.width, canvas.height);"
        "const context = copy.getContext('2d', {willReadFrequently: true}); context.drawImage(canvas, 0, 0);"
        "const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;"
        "return Array.from({length: 128}, (_, r) => Array.from({length: 128}, (_, c) => {"
        " const at = 4 * (Math.floor((r + .5) * n) * canvas.width + Math.floor((c + .5) * n));"
        " return pixels[at] > pixels[at + 1]; }))"
    )
    return np.array(red)


def test_the_map_of_c_is_red_where_numpy_says(opened: Chrome, kernel: Inspection) -> None:
    run = kernel._subject.plain()
    a, b = (run.inputs[name].astype(np.float64) for name in "AB")
    assert a.shape == (128, 32)
    expected = (a @ b) != (transposed_tiles(a) @ b)
    for chosen in ((0, 1), (100, 100)):  # whose frame hides its neighbours
        choose(opened, *chosen)
        seen = np.maximum(*np.abs(np.indices(expected.shape) - np.reshape(chosen, (2, 1, 1)))) > 1
        assert np.array_equal(red_elements(opened)[seen], expected[seen])
    assert f"{expected.sum()} of 16384" in opened.find_element(By.CSS_SELECTOR, ".output").text


@pytest.mark.parametrize(("row", "col"), [(0, 1), (37, 90), (127, 126)])
def test_an_element_shows_its_products_and_the_lane_that_made_it(opened: Chrome, row: int, col: int) -> None:
    choose(opened, row, col)
    panel = opened.find_element(By.CSS_SELECTOR, ".element")
    assert panel.find_element(By.TAG_NAME, "h3").text == f"C[{row}][{col}]"
    # A tile of 128 x 64 a workgroup, 32 x 32 a wave, whose lanes hold a column and every second row.
    group, wave = col // 64, row // 32 * 2 + col % 64 // 32
    lane = col % 16 + 16 * (row % 2)
    made = panel.find_element(By.CSS_SELECTOR, "button.link").text
    assert made.startswith(f"workgroup ({group}, 0, 0), wave {wave}, lane {lane}, v")
    shown = [box.get_attribute("title") for box in panel.find_elements(By.CSS_SELECTOR, ".strip button")]
    wanted = [
        f"k {k}: A[{row // 16 * 16 + k % 16}][{k // 16 * 16 + row % 16}] * B[{k}][{col}]" for k in range(32)
    ]
    assert shown == wanted
    wrong = [
        box.get_attribute("class") == "wrong" for box in panel.find_elements(By.CSS_SELECTOR, ".strip button")
    ]
    assert wrong == [k % 16 != row % 16 for k in range(32)]


def test_a_product_leads_to_its_slot(opened: Chrome) -> None:
    click(opened, opened.find_elements(By.CSS_SELECTOR, ".strip button")[17])
    chosen = opened.find_element(By.CSS_SELECTOR, "td.chosen")
    assert "A[1][16]" in (chosen.get_attribute("title") or "")
    assert "execution 1" in opened.find_element(By.CSS_SELECTOR, ".moment .says").text


def test_the_source_is_marked_at_the_finding(opened: Chrome, view: KernelView) -> None:
    (found,) = view.findings
    assert found.place.source is not None
    line = opened.find_element(By.CSS_SELECTOR, ".line.finding")
    assert line.get_attribute("data-line") == str(found.place.source.line)
    text = (SEEDS / found.place.source.file).read_text().splitlines()[found.place.source.line - 1]
    assert line.find_element(By.TAG_NAME, "code").text == text.rstrip()
    code = opened.find_element(By.CSS_SELECTOR, ".code")
    assert 0 <= line.location["y"] - code.location["y"] < code.size["height"], "it is in sight"


def lds_says(chrome: Chrome, byte: int) -> str:
    """What the page says of a byte of LDS, of 32 banks and 18432 bytes, after a click on it."""
    row, bank = divmod(byte // 4, 32)
    chrome.execute_script(
        "const [row, bank] = arguments, canvas = document.querySelector('.lds canvas');"
        "const box = canvas.getBoundingClientRect();"
        "canvas.dispatchEvent(new MouseEvent('click', {clientX: box.left + (bank + .5) / 32 * box.width,"
        " clientY: box.top + (row + .5) / 144 * box.height}))",
        row,
        bank,
    )
    settled(chrome)
    return chrome.find_elements(By.CSS_SELECTOR, ".lds .says")[1].text


@pytest.mark.parametrize(("row", "col"), [(0, 0), (1, 8), (37, 6), (127, 14)])
def test_lds_tells_who_stored_what_lies_there(opened: Chrome, row: int, col: int) -> None:
    """asmOpt.hip: thread t stores A's row t / 2, eight halves from t % 2 * 8 on, in rows of 24 halves."""
    byte, thread = 2 * (24 * row + col), 2 * row + col // 8
    says = lds_says(opened, byte)
    assert says.startswith(
        f"byte {byte // 4 * 4}, bank {byte // 4 % 32}: A[{row}][{col}], A[{row}][{col + 1}], "
        f"stored by wave {thread // 32}, lane "
    )
    assert f"lane {thread % 32}, with ds_store_b128 at asmOpt.hip:48" in says
    assert "nothing was stored" in lds_says(opened, 2 * (24 * row + 16)), "padding"


def lds_hues(chrome: Chrome, bytes_of: Iterable[int]) -> list[float]:
    """Hues of what is drawn for bytes of LDS, in degrees; -1 of a grey."""
    width, pixels = chrome.execute_script(
        "const canvas = document.querySelector('.lds canvas'), {width, height} = canvas;"
        "const copy = Object.assign(document.createElement('canvas'), {width, height});"
        "const context = copy.getContext('2d', {willReadFrequently: true});"
        "context.drawImage(canvas, 0, 0);"
        "return [width, [...context.getImageData(0, 0, width, height).data]]"
    )
    image = np.array(pixels, np.uint8).reshape(-1, width, 4)
    hues = []
    for row, bank in (divmod(byte // 4, 32) for byte in bytes_of):
        colour = image[(2 * row + 1) * len(image) // 288, (10 * bank + 4) * width // 320, :3] / 255
        hue, _, _ = colorsys.rgb_to_hls(*colour)
        hues.append(360 * hue if np.ptp(colour) > 0.1 else -1.0)
    return hues


def test_lds_has_a_colour_for_each_row_of_the_matrix(opened: Chrome) -> None:
    """asmOpt.hip: A's 128 rows of 16 halves have the first half of the circle, and lie in rows of 24 halves."""
    say = opened.find_element(By.CSS_SELECTOR, ".lds .legend").text
    assert "A, rows 0 to 127" in say
    assert "B, rows 0 to 31" in say
    rows = (1, 30, 77, 126)
    held = lds_hues(opened, (2 * (24 * row + col) for row in rows for col in range(0, 16, 2)))
    assert held == pytest.approx(np.repeat(180 * np.array(rows) / 128, 8), abs=3)
    assert lds_hues(opened, (2 * (24 * row + col) for row in rows for col in (16, 22))) == [-1] * 8, "padding"
    click(opened, opened.find_elements(By.CSS_SELECTOR, ".lds .choices button")[1])
    assert "asmOpt.hip:48" in opened.find_element(By.CSS_SELECTOR, ".lds .legend").text
    by_store = lds_hues(opened, (2 * 24 * row for row in rows))
    assert by_store == pytest.approx([by_store[0]] * 4, abs=3)


def test_lds_is_empty_before_the_first_store(opened: Chrome) -> None:
    opened.execute_script(
        "const canvas = document.querySelector('.timeline canvas'), box = canvas.getBoundingClientRect();"
        "canvas.dispatchEvent(new MouseEvent('click', {clientX: box.left + 36, clientY: box.top + 5}))"
    )
    settled(opened)
    assert "nothing was stored" in lds_says(opened, 0)
    assert "has not accessed LDS yet" in opened.find_element(By.CSS_SELECTOR, ".lds").text


def test_a_recording_with_what_operands_need_shows_both(
    chrome: Chrome, kernel: Inspection, page: str, tmp_path: Path
) -> None:
    """As the page of the manifest does, whose first view is the same."""
    resize(chrome, 1500, 1000)
    chrome.get(page)
    live = slots(chrome)
    complaints_of(chrome), requests_of(chrome)
    write_recording(tmp_path / "run.cap", kernel.kept())
    address = written(page_of(read_recording(tmp_path / "run.cap")), tmp_path)
    chrome.get(address)
    settled(chrome)
    for kept, seen in zip(slots(chrome), live, strict=True):
        assert np.array_equal(kept, seen)
    said = chrome.find_element(By.CSS_SELECTOR, ".verdict").text
    assert "4 of 4 matrix instructions with wrong operands" in said
    assert complaints_of(chrome) == []
    assert requests_of(chrome) == [address]


def test_a_recording_has_a_page_of_its_own(chrome: Chrome, kernel: Inspection, tmp_path: Path) -> None:
    """LDS, source and what operands hold are those of the run; nothing is judged, and nothing looks as if it were."""
    made = kernel.recording()
    write_recording(tmp_path / "run.cap", made)
    resize(chrome, 1500, 1000)
    complaints_of(chrome), requests_of(chrome)
    address = written(page_of(read_recording(tmp_path / "run.cap")), tmp_path)
    chrome.get(address)
    settled(chrome)
    said = chrome.find_element(By.CSS_SELECTOR, ".verdict").text
    assert "4 matrix instructions: shown, and not judged" in said
    assert "replayed" in said
    assert not chrome.find_elements(By.CSS_SELECTOR, ".operand, .moment, .output, .swatch.wrong")
    assert "A[37][6], A[37][7], stored by wave 2, lane 10" in lds_says(chrome, 2 * (24 * 37 + 6))
    assert (
        "held beside nothing: nobody asked what operands need"
        in chrome.find_element(By.CSS_SELECTOR, ".held .says").text
    )
    cells = [cell.text for cell in chrome.find_elements(By.CSS_SELECTOR, ".held tbody td")]
    assert cells == [
        f"A[{2 * vgpr}/{2 * vgpr + 1}][{lane % 16}]" for lane in range(32) for vgpr in range(8)
    ], "columns of A, where rows belong"
    click(chrome, chrome.find_elements(By.CSS_SELECTOR, ".held tbody td")[8 * 3 + 1])
    chrome.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    settled(chrome)
    assert chrome.find_element(By.CSS_SELECTOR, ".held .says").text == "lane 4, v74 holds A[4][4], A[5][4]"
    click(chrome, chrome.find_elements(By.CSS_SELECTOR, ".held .choices button")[1])
    assert chrome.find_element(By.CSS_SELECTOR, ".held tbody td").text == "B[0/1][0]"
    assert chrome.find_elements(By.CSS_SELECTOR, ".source .line")
    click(chrome, chrome.find_element(By.CSS_SELECTOR, ".timeline summary"))
    events = chrome.find_elements(By.CSS_SELECTOR, ".timeline tbody tr")
    kinds = np.array([one.kind in KINDS for one in made.code])
    assert len(events) == np.count_nonzero(kinds[made.steps.inst[made.steps_of(0)]])
    chrome.find_element(By.TAG_NAME, "body").send_keys("n.,")
    settled(chrome)
    assert complaints_of(chrome) == []
    assert requests_of(chrome) == [address]


def test_the_timeline_has_every_event_and_leads_to_its_moment(opened: Chrome) -> None:
    """asmOpt.hip with K = 32: two steps of four matrix instructions, one barrier a step."""
    click(opened, opened.find_element(By.CSS_SELECTOR, ".timeline summary"))
    rows = [row.text.split() for row in opened.find_elements(By.CSS_SELECTOR, ".timeline tbody tr")]
    kinds = [row[1] for row in rows]
    assert kinds.count("matrix") == 8
    assert kinds.count("barrier") == 2
    assert kinds[-1] == "end"
    order = [int(row[0]) for row in rows]
    assert order == sorted(order)
    canvas = opened.find_element(By.CSS_SELECTOR, ".timeline canvas")
    says = opened.find_element(By.CSS_SELECTOR, ".timeline .says").text
    here = order.index(int(says.split("row ")[1].split()[0]))
    assert kinds[here] == "matrix"
    canvas.send_keys(Keys.ARROW_RIGHT)
    settled(opened)
    assert f"row {order[here + 1]} of" in opened.find_element(By.CSS_SELECTOR, ".timeline .says").text
    canvas.send_keys(Keys.ARROW_DOWN)
    settled(opened)
    assert opened.find_element(By.CSS_SELECTOR, ".moment [aria-pressed=true]").text == "1"


def test_a_race_is_drawn_between_its_accesses(chrome: Chrome, tmp_path: Path) -> None:
    """The barrier at the end of a step is missing: a wave loads from the tile that another one stores."""
    fault = next(fault for fault in BARRIERS if fault.name == "standard: no barrier at the end of the step")
    (tmp_path / "kernel").mkdir()
    case = plant(tmp_path / "kernel", fault)
    kernel = look_into(case, size={"M": 200, "N": 137, "K": 75})
    view = kernel.view()
    assert any(found.rule.check == "races" for found in view.findings)
    complaints_of(chrome)
    chrome.get(written(view, tmp_path))
    settled(chrome)
    race = chrome.find_element(By.CSS_SELECTOR, ".race")
    ends = [button.text for button in race.find_elements(By.TAG_NAME, "button")]
    assert sum("ds_load" in end for end in ends) == 1
    assert sum("ds_store" in end for end in ends) == 1
    waves = [end.split("wave ")[1].rstrip(")") for end in ends]
    assert waves[0] != waves[1]
    for wave, end in zip(waves, race.find_elements(By.TAG_NAME, "button"), strict=True):
        click(chrome, end)
        assert chrome.find_element(By.CSS_SELECTOR, ".moment [aria-pressed=true]").text == wave
        assert "ds_" in chrome.find_element(By.CSS_SELECTOR, ".timeline .says").text
    assert complaints_of(chrome) == []


def test_every_control_does_its_work_without_complaint(opened: Chrome) -> None:
    """Each button, list, slider and fold, once; `opened` looks at the console and at the network."""
    kinds = "button:not(:disabled), summary, select, input"
    total = len(opened.find_elements(By.CSS_SELECTOR, kinds))
    assert total > 40
    for at in range(total):
        every = opened.find_elements(By.CSS_SELECTOR, kinds)
        if at >= len(every):
            break
        one = every[at]
        if one.tag_name == "select":
            for value in [o.get_attribute("value") for o in one.find_elements(By.TAG_NAME, "option")]:
                opened.execute_script(
                    "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))",
                    one,
                    value,
                )
                settled(opened)
        elif one.tag_name == "input":
            one.send_keys(Keys.ARROW_UP)
            settled(opened)
        elif one.is_displayed():
            click(opened, one)
    assert opened.find_elements(By.CSS_SELECTOR, ".fragment td")


def test_keys_move_in_time_and_between_slots(opened: Chrome) -> None:
    body = opened.find_element(By.TAG_NAME, "body")

    def says() -> str:
        settled(opened)
        return opened.find_element(By.CSS_SELECTOR, ".moment .says").text

    assert says().startswith("step 1 of 8")
    body.send_keys("..")
    assert says().startswith("step 3 of 8")
    body.send_keys(",")
    assert says().startswith("step 2 of 8")
    body.send_keys("b")
    settled(opened)
    assert opened.find_element(By.CSS_SELECTOR, ".operand h2").text.startswith("Operand B in v")
    opened.find_element(By.CSS_SELECTOR, ".fragment td[tabindex='0']").send_keys(Keys.ARROW_DOWN)
    settled(opened)
    opened.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    settled(opened)
    chosen = opened.switch_to.active_element
    assert chosen.get_attribute("data-slot") == "17"
    assert "lane 1, " in opened.find_element(By.CSS_SELECTOR, ".operand .says").text


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1500])
def test_it_fits_its_window_and_can_be_read(opened: Chrome, width: int, dark: bool) -> None:
    """Nothing sticks out sideways; text has at least 4.5 times its ground's luminance, as WCAG 2 asks."""
    resize(opened, width, 900, dark=dark)
    opened.refresh()
    settled(opened)
    assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    for css in ("td.wrong", "td.even:not(.wrong, .dead)", ".says", ".line code", ".strip .wrong"):
        found = opened.find_elements(By.CSS_SELECTOR, css)
        assert found, css
        assert contrast(opened, found[0]) >= 4.5, css
    requests_of(opened)
    opened.refresh()


def contrast(chrome: Chrome, element: WebElement) -> float:
    """Luminance of an element's text against its ground, as the browser has them (WCAG 2.2, 1.4.3)."""
    ink, ground = chrome.execute_script(
        "const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});"
        "const paint = colour => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); };"
        "const seen = () => [...canvas.getImageData(0, 0, 1, 1).data];"
        "const up = []; for (let e = arguments[0]; e; e = e.parentElement) up.unshift(e);"
        "paint('white'); for (const e of up) paint(getComputedStyle(e).backgroundColor);"
        "const ground = seen(); paint(getComputedStyle(arguments[0]).color); return [seen(), ground];",
        element,
    )

    def luminance(colour: list[int]) -> float:
        parts = [c / 255 for c in colour[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    one, other = sorted((luminance(ink), luminance(ground)))
    return (other + 0.05) / (one + 0.05)


def test_controls_have_names_and_pictures_have_tables(opened: Chrome) -> None:
    nameless = opened.execute_script(
        "return [...document.querySelectorAll('button, select, input, canvas, section, [role=grid]')]"
        ".filter(e => !(e.textContent.trim() && e.tagName === 'BUTTON') && !e.getAttribute('aria-label')"
        " && !e.labels?.length && !e.className.includes('layoutprobe')).map(e => e.outerHTML.slice(0, 90))"
    )
    assert nameless == []
    for summary in opened.find_elements(By.CSS_SELECTOR, "details.behind > summary"):
        click(opened, summary)
    tables = opened.find_elements(By.CSS_SELECTOR, "details.behind table")
    assert len(tables) >= 2
    rows = [len(table.find_elements(By.CSS_SELECTOR, "tbody tr")) for table in tables]
    assert 32 in rows, "the products of an element"
    heads = opened.execute_script(
        "return [...document.querySelectorAll('th')].every(head => head.hasAttribute('scope'))"
    )
    assert heads


def test_names_are_text_and_nothing_else(chrome: Chrome, view: KernelView, tmp_path: Path) -> None:
    """Of the manifest, of debug information, of sources and findings."""
    found = replace(view.findings[0], what=NASTY)
    sources = {NASTY: {1: NASTY}, **view.sources}
    bad = replace(
        view,
        sites=replace(view.sites, kernel=NASTY, size=NASTY, findings=(found,)),
        sources=sources,
        no_output=NASTY,
        output=None,
        toolchain={NASTY: NASTY},
    )
    address = written(bad, tmp_path)
    complaints_of(chrome), requests_of(chrome)
    chrome.get(address)
    settled(chrome)
    assert chrome.title != "owned"
    assert "</script>" in chrome.find_element(By.CSS_SELECTOR, ".card p").text
    assert "</script>" in chrome.find_element(By.CSS_SELECTOR, ".output").text
    assert chrome.find_elements(By.TAG_NAME, "img") == []
    assert "\u202e" not in chrome.page_source
    assert requests_of(chrome) == [address]
    assert complaints_of(chrome) == []


def test_the_policy_lets_nothing_out_and_nothing_else_run(chrome: Chrome, page: str) -> None:
    chrome.get(page)
    policy = chrome.find_element(By.CSS_SELECTOR, "meta[http-equiv]").get_attribute("content") or ""
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'unsafe-inline'; base-uri 'none'; "
        r"form-action 'none'",
        policy,
    )
    requests_of(chrome)
    refused = chrome.execute_async_script(
        "const done = arguments[0]; const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s); const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i);"
        "fetch('http://127.0.0.1:9/').then(() => done(false), () => done(window.ran === undefined))"
    )
    assert refused is True
    assert len(complaints_of(chrome)) >= 3, "script, image and fetch are each refused"


@pytest.mark.parametrize(
    ("name", "operand", "wrong", "line"),
    [
        ("swizzle", "A", 192, "f[i] = tile[r * STEP + kk + i]"),
        ("barrier", "A", 0, "*(half8 *)(tile + chunk_at(r, c))"),
        ("columns", "A", 240, "a_lds[buf][chunk_at(wave_m + i * 16 + e"),
        ("epilogue", "C", 224, "C[(size_t)row * N + col] = acc[i][j][v]"),
        ("tail", "A", 256, "*(half8 *)(tile + chunk_at(r, c))"),
    ],
)
def test_usual_faults_are_seen_without_a_click(
    chrome: Chrome, tmp_path: Path, name: str, operand: str, wrong: int, line: str
) -> None:
    """As docs/faults.md says: the operand, how much of it is red, the race, and the line are there at once."""
    resize(chrome, 1320, 1450)
    chrome.get(written(inspect(GEMM, name).view(), tmp_path))
    settled(chrome)
    words = chrome.find_element(By.TAG_NAME, "body").text
    assert f"Operand {operand} in " in words
    said = (
        f"{wrong} of {256 if operand == 'C' else 512} slots are wrong"
        if wrong
        else "every slot holds what is"
    )
    assert said in words
    assert ("with no barrier between them" in words) is (name == "barrier")
    (marked,) = [row for row in chrome.find_elements(By.CSS_SELECTOR, ".line.finding") if line in row.text]
    box, row = chrome.find_element(By.CSS_SELECTOR, ".source .code").rect, marked.rect
    assert 0 <= row["y"] - box["y"] <= box["height"] - row["height"]
