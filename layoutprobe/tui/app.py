"""The interactive inspector: panes around a moment of a recording, and a key for each way to another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from layoutprobe.errors import UsageError
from layoutprobe.recording.questions import Asked
from layoutprobe.tui.session import Lines, Session

HELP = """\
 A capital letter goes backwards.

 right, left   one instruction        down, up   scroll the pane
 l  L          another source line    tab        the next pane
 m  M          matrix instruction     z          one pane alone
 b  B          barrier                [  ]       lane
 o  O          loop pass              w  W       wave
 s  S          store                  home, end  first, last
 g             go to: mfma:3, barrier:0, gemm.hip:76, 0x1f58
 /             search: text, line, register, A[3][5]
 n  N          the same again

 >  here; a line or dword that the instruction is about
 .  a source line with code           r w  it reads, it writes
 *  written by the instruction before

 ?  or escape closes this             q  ends
"""


class Pane(Widget, can_focus=True):
    """A title and as many lines as there is room for; makes only those."""

    DEFAULT_CSS = """
    Pane { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "scroll_lines(1)", show=False),
        Binding("up", "scroll_lines(-1)", show=False),
        Binding("pagedown", "scroll_pages(1)", show=False),
        Binding("pageup", "scroll_pages(-1)", show=False),
    ]

    def __init__(self, make: Callable[[int], Lines], name: str) -> None:
        """A pane; `make` gives its lines for a width."""
        super().__init__(id=name)
        self._make = make
        self._first: int | None = None

    def anew(self) -> None:
        """Show the moment of now, around its current line."""
        self._first = None
        self.refresh()

    def action_scroll_lines(self, by: int) -> None:
        """Some lines down or up."""
        lines = self._make(self.size.width)
        first = self._start(lines) + by
        self._first = max(0, min(first, lines.count - max(1, self.size.height - 1)))
        self.refresh()

    def action_scroll_pages(self, by: int) -> None:
        """A page down or up."""
        self.action_scroll_lines(by * max(1, self.size.height - 2))

    def _start(self, lines: Lines) -> int:
        room = max(1, self.size.height - 1)
        first = max(0, lines.current) - room // 2 if self._first is None else self._first
        return max(0, min(first, lines.count - room))

    def render(self) -> Content:
        """Its title, and the lines that fit."""
        lines, width = self._make(self.size.width), max(1, self.size.width - 1)
        title = ("[" if self.has_focus else " ") + lines.title[: width - 2] + ("]" if self.has_focus else " ")
        parts: list[Content | tuple[str, str]] = [(title.ljust(width)[:width], "reverse")]
        first = self._start(lines)
        for at in range(first, min(lines.count, first + self.size.height - 1)):
            text = lines.line(at)
            parts.append(("\n" + _cut(text, width), "bold" if text.startswith(">") else ""))
        return Content.assemble(*parts)

    def on_focus(self) -> None:
        """Its title tells."""
        self.refresh()

    def on_blur(self) -> None:
        """Likewise."""
        self.refresh()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "~"


class Help(ModalScreen[None]):
    """The keys."""

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help VerticalScroll { width: 78; height: 22; border: ascii $foreground; background: $background; }
    Help Static { width: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q", "dismiss", show=False)]

    def compose(self) -> ComposeResult:
        """One text."""
        with VerticalScroll():
            yield Static(HELP, markup=False)


class Inspector(App[None]):
    """A recording, to be walked through."""

    TITLE = "layoutprobe inspect"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #head, #foot { height: 1; width: 100%; }
    #code { height: 1fr; }
    #data { height: 1fr; }
    #timeline { width: 100%; height: 6; }
    #registers { width: 3fr; }
    #lds { width: 2fr; }
    Input { height: 1; border: none; display: none; padding: 0; }
    .alone { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "move(1)"), Binding("left", "move(-1)"), Binding("home", "end(True)"),
        Binding("end", "end(False)"), Binding("l", "line(False)"), Binding("L", "line(True)"),
        Binding("m", "kind('matrix', False)"), Binding("M", "kind('matrix', True)"),
        Binding("b", "kind('barrier', False)"), Binding("B", "kind('barrier', True)"),
        Binding("s", "kind('store', False)"), Binding("S", "kind('store', True)"),
        Binding("o", "pass(False)"), Binding("O", "pass(True)"), Binding("w", "wave(1)"), Binding("W", "wave(-1)"),
        Binding("right_square_bracket", "lane(1)"), Binding("left_square_bracket", "lane(-1)"),
        Binding("g", "ask('go to ')"), Binding("slash", "ask('/')"), Binding("n", "again(False)"),
        Binding("N", "again(True)"), Binding("z", "alone"), Binding("question_mark", "help"), Binding("q", "quit"),
    ]  # fmt: skip

    def __init__(self, asked: Asked) -> None:
        """Begin at a moment."""
        super().__init__(ansi_color=True)
        self.session = Session(asked)
        self._wanted = ""
        self._asking = ""

    def compose(self) -> ComposeResult:
        """The panes."""
        session = self.session
        yield Static(session.head(), id="head", markup=False)
        with Horizontal(id="code"):
            yield Pane(lambda _: session.source(), "source")
            yield Pane(lambda _: session.assembly(), "assembly")
        with Horizontal(id="data"):
            yield Pane(lambda _: session.registers(), "registers")
            yield Pane(lambda _: session.lds(), "lds")
        yield Pane(lambda width: session.timeline(max(8, width - 8)), "timeline")
        yield Input(id="ask")
        yield Static("? help  q quit  right/left step  m matrix  b barrier  l line  o loop  / search",
                     id="foot", markup=False)  # fmt: skip

    def on_mount(self) -> None:
        """Keys go to a pane."""
        self.query_one("#assembly", Pane).focus()

    def on_resize(self, _: Resize) -> None:
        """Other lines fit."""
        self._show(True, "")

    def _show(self, found: bool, what: str) -> None:
        """The moment of now; or that there is none such."""
        foot = self.query_one("#foot", Static)
        if not found:
            foot.update(Content.styled(what, "reverse"))
            return
        foot.update("? help  q quit  right/left step  m matrix  b barrier  l line  o loop  / search")
        self.query_one("#head", Static).update(self.session.head())
        for pane in self.query(Pane):
            pane.anew()

    # Keys.

    def action_move(self, by: int) -> None:
        """Instructions on or back."""
        self._show(self.session.move(by), "the run ends here" if by > 0 else "the run begins here")

    def action_end(self, back: bool) -> None:
        """To the ends of the run."""
        self._show(self.session.to_end(back), "there we are")

    def action_line(self, back: bool) -> None:
        """Another source line."""
        self._show(self.session.to_line(back), f"no other line {_way(back)}")

    def action_kind(self, kind: str, back: bool) -> None:
        """An instruction of a kind."""
        self._show(self.session.to_kind(kind, back), f"no {kind} {_way(back)}")

    def action_pass(self, back: bool) -> None:
        """Where a loop begins again."""
        self._show(self.session.to_pass(back), f"no loop pass {_way(back)}")

    def action_wave(self, by: int) -> None:
        """Another wave."""
        self._show(self.session.to_wave(by), "no other wave was recorded")

    def action_lane(self, by: int) -> None:
        """Another lane."""
        self._show(self.session.to_lane(by), "")

    def action_again(self, back: bool) -> None:
        """What was searched for, once more."""
        if self._wanted:
            wave = self.session.recording.waves[self.session.wave].index
            other = "n looks behind it" if back else "N looks before it"
            missed = f"wave {wave}: no {self._wanted} {_way(back)}; {other}, w in another wave"
            self._show(self.session.search(self._wanted, back), missed)

    def action_alone(self) -> None:
        """One pane alone, or all again."""
        focused = self.focused
        others = [
            widget for widget in self.query("Pane, #code, #data") if focused not in widget.walk_children()
        ]
        hide = not any(widget.has_class("alone") for widget in self.query("Pane"))
        for widget in self.query("Pane, #code, #data"):
            widget.set_class(hide and widget in others and widget is not focused, "alone")
        self.call_after_refresh(self._show, True, "")

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(Help())

    def action_ask(self, what: str) -> None:
        """A line to type into."""
        self._asking = what
        line = self.query_one("#ask", Input)
        line.placeholder = (
            "mfma:3, barrier:0, gemm.hip:76, 0x1f58" if what != "/" else "text, line, register, A[3][5]"
        )
        line.value = ""
        line.display = True
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """What was typed."""
        text = event.value.strip()
        self._leave()
        if not text:
            return
        if self._asking == "/":
            self._wanted = text
            self.action_again(False)
            return
        try:
            self._show(self.session.go(text), "")
        except UsageError as error:
            self._show(False, str(error).splitlines()[0])

    def on_key(self, event: object) -> None:
        """Escape leaves the line."""
        if getattr(event, "key", "") == "escape" and self.query_one("#ask", Input).display:
            self._leave()

    def _leave(self) -> None:
        line = self.query_one("#ask", Input)
        line.display = False
        self.query_one("#assembly", Pane).focus()


def _way(back: bool) -> str:
    return "before this" if back else "behind this"


def walk(asked: Asked) -> None:
    """Show a moment of a recording, and let the user go to others, until he ends it."""
    Inspector(asked).run()
