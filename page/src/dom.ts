// Elements are built here alone, and texts become text nodes: nothing in the data can be markup.

type Child = Node | string | null | undefined | false;
type Attributes = Readonly<Record<string, string | number | boolean | EventListener | undefined>>;

/** An element: attributes by name ("onclick" takes a listener, false leaves out), then children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for an element of a drawing. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled<E extends Element>(made: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child): child is Node | string => Boolean(child)));
  return made;
}

/** A button that can be pressed in: `on` says whether it is. */
export function toggle(text: string, on: boolean, press: () => void, title = ""): HTMLButtonElement {
  return el(
    "button",
    { type: "button", "aria-pressed": String(on), title: title || undefined, onclick: press },
    text,
  );
}

/** A sign and what it stands for, which stay on one line where there is room. */
export function entry(sign: string, text: string, more: Attributes = {}, shown = ""): HTMLElement {
  return el("span", { class: "entry" }, el("span", { class: sign, ...more }, shown), ` ${text}`);
}

/** A table behind a picture: for screen readers, and for whoever wants the figures. */
export function tableBehind(
  title: string,
  heads: readonly string[],
  rows: () => Iterable<readonly string[]>,
): HTMLElement {
  const box = el("div", { class: "scroll" });
  const details = el("details", { class: "behind" }, el("summary", {}, title), box);
  details.addEventListener("toggle", () => {
    if (!details.open || box.childElementCount) return;
    const head = el("tr", {}, ...heads.map((text) => el("th", { scope: "col" }, text)));
    const body = [...rows()].map(([first, ...rest]) =>
      el("tr", {}, el("th", { scope: "row" }, first ?? ""), ...rest.map((text) => el("td", {}, text))),
    );
    box.append(el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)));
  });
  return details;
}

/** The page's colours by name, for a drawing; each is looked up once. */
export function coloursOf(canvas: HTMLElement): (name: string) => string {
  const look = getComputedStyle(canvas);
  const known = new Map<string, string>();
  return (name) => {
    const colour = known.get(name) ?? look.getPropertyValue(`--${name}`).trim();
    known.set(name, colour);
    return colour;
  };
}
