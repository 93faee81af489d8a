// The moment: workgroup, wave, and how far the wave has come.

import { el, toggle } from "./dom";
import type { Step } from "./model";
import type { Store } from "./store";

export function momentBar(store: Store): HTMLElement {
  const { model } = store;
  const groups = el("select", {
    id: "group",
    onchange: () => {
      const group = Number(groups.value);
      store.set({ group, wave: model.waves[group]?.[0] ?? 0, slot: null });
    },
  });
  groups.append(
    ...model.data.moments.groups.map((_, at) => el("option", { value: at }, model.groupName(at))),
  );
  const waves = el("div", { class: "choices", role: "group", "aria-label": "wave" });
  const slider = el("input", {
    type: "range",
    id: "step",
    min: 0,
    step: 1,
    oninput: () => store.set({ step: Number(slider.value), slot: null }),
  });
  const move = (by: number) => () => store.set({ step: store.state.step + by, slot: null });
  const back = el("button", { type: "button", onclick: move(-1), "aria-label": "one step back" }, "◀");
  const forth = el("button", { type: "button", onclick: move(1), "aria-label": "one step on" }, "▶");
  const wrong = el(
    "button",
    { type: "button", id: "next-wrong", onclick: () => nextWrong(store) },
    "next wrong",
  );
  const says = el("p", { class: "says", "aria-live": "polite" });
  store.watch(() => {
    const { group, wave, step } = store.state;
    groups.value = String(group);
    waves.replaceChildren(
      ...(model.waves[group] ?? []).map((one) => {
        const bad = model.steps(group, one).some((each) => each.wrong);
        const press = () => store.set({ wave: one, slot: null });
        const button = toggle(
          String(one),
          one === wave,
          press,
          bad ? `wave ${one}: wrong operands` : `wave ${one}`,
        );
        button.classList.toggle("bad", bad);
        return button;
      }),
    );
    slider.max = String(Math.max(store.steps.length - 1, 0));
    slider.value = String(step);
    back.disabled = step === 0;
    forth.disabled = step >= store.steps.length - 1;
    const found = store.step;
    slider.setAttribute("aria-valuetext", found ? stepName(store, found) : "nothing was executed");
    says.replaceChildren(...(found ? describe(store, found) : ["no matrix instruction was executed"]));
    wrong.disabled = store.nextWrong() === undefined;
  });
  const left = model.data.moments.leftOut;
  return el(
    "section",
    { class: "moment", "aria-label": "moment" },
    el("label", { for: "group" }, "workgroup"),
    groups,
    left > 0 && el("small", {}, `${left} more are left out: --workgroup X,Y,Z`),
    el("span", { class: "label" }, "wave"),
    waves,
    el(
      "div",
      { class: "slide" },
      back,
      el("label", { for: "step", class: "hidden" }, "step"),
      slider,
      forth,
      wrong,
    ),
    says,
  );
}

/** Goes to the next wrong operand, and shows it. */
export function nextWrong(store: Store): void {
  const step = store.nextWrong();
  const matrix = (["A", "B", "C"] as const).find((one) => step?.operands[one]?.anyWrong);
  if (step !== undefined) store.goto(step, { slot: null, ...(matrix && { matrix }) });
}

export function stepName(store: Store, step: Step): string {
  const site = store.model.site(step.site);
  return `matrix instruction ${step.site}, ${site?.title ?? ""}, execution ${step.iteration}`;
}

function describe(store: Store, step: Step): (Node | string)[] {
  const site = store.model.site(step.site);
  const wrong = Object.entries(step.operands).filter(([, operand]) => operand.anyWrong);
  const bad = wrong.map(([matrix, operand]) => `${matrix}: ${operand.countWrong} of ${operand.slots} slots`);
  return [
    el("b", {}, `step ${store.state.step + 1} of ${store.steps.length}`),
    ` matrix instruction ${step.site}, `,
    el("code", {}, site?.title ?? ""),
    `, execution ${step.iteration} `,
    bad.length > 0
      ? el("span", { class: "bad-text" }, `✗ wrong: ${bad.join("; ")}`)
      : el("span", { class: "good-text" }, "✓ operands are right"),
  ];
}
