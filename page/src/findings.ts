// Findings: what `check` says of the operands, and the way to where it is seen.

import type { Finding } from "./data";
import { MATRICES } from "./data";
import { el } from "./dom";
import type { Step } from "./model";
import type { Store } from "./store";

export function findingsView(store: Store): HTMLElement {
  const { findings } = store.model.data;
  return el(
    "div",
    { class: "findings" },
    ...findings.map((finding, at) => {
      const { file, line } = finding.place;
      const step = stepOf(store, finding);
      const matrix = MATRICES.find((one) => one === finding.place.matrix);
      const rows = finding.lines.flatMap(([label, text]) => [
        el("dt", {}, label),
        el("dd", {}, el("code", {}, text)),
      ]);
      return el(
        "div",
        { class: "card finding" },
        el("span", { class: "place" }, file === undefined ? "" : `${file}:${line}`),
        el("h3", {}, `Finding ${at + 1} of ${findings.length}: ${finding.rule}`),
        el("p", {}, finding.what),
        el(
          "p",
          { class: "go" },
          step &&
            el(
              "button",
              { type: "button", onclick: () => store.goto(step, { slot: null, ...(matrix && { matrix }) }) },
              "show its slots",
            ),
          file !== undefined &&
            line !== undefined &&
            el(
              "button",
              { type: "button", onclick: () => store.set({ line: { file, line } }) },
              "show its line",
            ),
        ),
        el("details", { class: "behind" }, el("summary", {}, "in full"), el("dl", {}, ...rows)),
      );
    }),
  );
}

/** The first execution in which the finding's operand is wrong, in its wave where it names one. */
function stepOf(store: Store, finding: Finding): Step | undefined {
  const matrix = MATRICES.find((one) => one === finding.place.matrix);
  const pcs = new Set([finding.place, ...finding.related.map(({ place }) => place)].map(({ pc }) => pc));
  const wrong = [...store.model.every].flat().filter((step) => {
    const own = matrix === undefined ? step.wrong : step.operands[matrix]?.anyWrong;
    return own ?? false;
  });
  const named = wrong.filter((step) => pcs.has(store.model.site(step.site)?.place.pc));
  const { wave, workgroup } = finding.place;
  const group = store.model.groupNumber(workgroup);
  return named.find((step) => step.wave === wave && step.group === group) ?? named[0] ?? wrong[0];
}
