// The kernel's source: which lines findings and matrix instructions are at.

import type { Place, Source } from "./data";
import { el, entry } from "./dom";
import type { Store } from "./store";

/** Lines of a file above which those out of sight are not laid out. */
const LONG = 3000;

interface Marks {
  readonly sites: number[];
  readonly findings: string[];
  readonly related: string[];
}

export function sourceView(store: Store): HTMLElement {
  const { model } = store;
  const { sources } = model.data;
  const marks = marksOf(store);
  const code = el("div", { class: "code", tabindex: 0, role: "region", "aria-label": "lines of the source" });
  const files = el("select", {
    "aria-label": "file",
    onchange: () => store.set({ line: { file: files.value, line: 1 } }),
  });
  files.append(...sources.map(({ file }) => el("option", { value: file }, file)));
  let shown = "";
  let aimed = "";
  store.watch(() => {
    const line = store.state.line ?? lineOfFinding(store) ?? lineOfStep(store);
    const file = line?.file ?? sources[0]?.file ?? "";
    if (file !== shown) {
      shown = file;
      files.value = file;
      const lines = linesOf(store, file, marks);
      code.classList.toggle("long", lines.length > LONG);
      code.replaceChildren(...lines);
    }
    for (const one of code.querySelectorAll(".now")) one.classList.remove("now");
    for (const at of nowLines(store, file)) code.querySelector(`[data-line="${at}"]`)?.classList.add("now");
    const aim = `${file}:${line?.line}`;
    if (aim !== aimed) {
      aimed = aim;
      const target = code.querySelector<HTMLElement>(`[data-line="${line?.line}"]`);
      if (target !== null) code.scrollTop = target.offsetTop - code.clientHeight / 3;
    }
  });
  if (sources.length === 0) {
    const why =
      "The kernel came as a code object, or without debug information (-g): there is no source to show.";
    return el(
      "section",
      { class: "source panel", "aria-label": "source" },
      el("h2", {}, "Source"),
      el("p", {}, why),
    );
  }
  return el(
    "section",
    { class: "source panel", "aria-label": "source" },
    el("header", {}, el("h2", {}, "Source"), files),
    code,
    el(
      "p",
      { class: "legend" },
      entry("mark finding", "a finding", {}, "✗"),
      entry("mark related", "on the way of the wrong value", {}, "○"),
      entry("mark site", "a matrix instruction", {}, "◆"),
      el("span", {}, "Choose a marked line to go there."),
    ),
  );
}

const lineName = (source: Source): string => `${source.file}:${source.line}`;

function placesOf(place: Place): Source[] {
  return place.near ? [] : [place, ...(place.inlined_at ?? [])];
}

function marksOf(store: Store): Map<string, Marks> {
  const found = new Map<string, Marks>();
  const at = (source: Source): Marks => {
    const marks = found.get(lineName(source)) ?? { sites: [], findings: [], related: [] };
    found.set(lineName(source), marks);
    return marks;
  };
  for (const site of store.model.data.sites)
    for (const source of placesOf(site.place)) at(source).sites.push(site.number);
  for (const finding of store.model.data.findings) {
    const own = shownLine(store, finding.place);
    if (own !== null) at(own).findings.push(finding.what);
    for (const { title, place } of finding.related) {
      const line = shownLine(store, place);
      if (line !== null) at(line).related.push(title);
    }
  }
  return found;
}

function linesOf(store: Store, file: string, marks: ReadonlyMap<string, Marks>): HTMLElement[] {
  const source = store.model.data.sources.find((one) => one.file === file);
  return (source?.lines ?? []).map(([line, text]) => {
    const mark = marks.get(`${file}:${line}`);
    const row = el(
      "div",
      { class: "line", "data-line": line },
      el("span", { class: "number" }, String(line)),
      sign(store, mark, file, line),
      el("code", {}, text || " "),
    );
    if (mark?.findings.length) {
      row.classList.add("finding");
      row.append(...[...new Set(mark.findings)].map((what) => el("p", { class: "note" }, `✗ ${what}`)));
    } else if (mark?.related.length) {
      row.classList.add("related");
      row.append(el("p", { class: "note" }, [...new Set(mark.related)].join("; ")));
    }
    return row;
  });
}

/** The mark of a line: a button that goes to the matrix instruction there. */
function sign(store: Store, mark: Marks | undefined, file: string, line: number): HTMLElement {
  if (mark === undefined) return el("span", { class: "mark" });
  const [text, css] = mark.findings.length
    ? ["✗", "finding"]
    : mark.related.length
      ? ["○", "related"]
      : ["◆", "site"];
  const title = [...mark.findings, ...mark.related, ...mark.sites.map((n) => `matrix instruction ${n}`)];
  const go = () => {
    const step = store.steps.find((one) => mark.sites.includes(one.site));
    if (step === undefined) store.set({ line: { file, line } });
    else store.goto(step, { line: { file, line }, slot: null });
  };
  const attributes = { type: "button", class: `mark ${css}`, title: title.join("\n"), onclick: go };
  return el("button", { ...attributes, "aria-label": `line ${line}: ${title.join("; ")}` }, text);
}

/** The innermost of an instruction's lines, its own or those of calls around it, whose file is on the page. */
function shownLine(store: Store, place: Place): { file: string; line: number } | null {
  const known = new Set(store.model.data.sources.map(({ file }) => file));
  for (const { file, line } of placesOf(place))
    if (file !== undefined && line !== undefined && known.has(file)) return { file, line };
  return null;
}

/** The line of the first finding, which is what one looks for first. */
function lineOfFinding(store: Store): { file: string; line: number } | null {
  const lines = store.model.data.findings.map(({ place }) => shownLine(store, place));
  return lines.find((line) => line !== null) ?? null;
}

function lineOfStep(store: Store): { file: string; line: number } | null {
  const site = store.model.site(store.step?.site ?? -1);
  const known = new Set(store.model.data.sources.map(({ file }) => file));
  const places = site === undefined ? [] : placesOf(site.place);
  const kernel = [...places].reverse().find(({ file }) => file !== undefined && known.has(file));
  return kernel?.file !== undefined && kernel.line !== undefined
    ? { file: kernel.file, line: kernel.line }
    : null;
}

/** Lines of a file at which the step's instruction is, calls around it included. */
function nowLines(store: Store, file: string): number[] {
  const site = store.model.site(store.step?.site ?? -1);
  const places = site === undefined ? [] : placesOf(site.place);
  return places.flatMap((source) => (source.file === file && source.line !== undefined ? [source.line] : []));
}
