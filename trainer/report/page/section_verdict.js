// Verdict: how the run ended, its main figures, and where to look.

const kStates = {
  "finished": "good",
  "running": "calm",
  "ended early": "calm",
  "preempted": "warn",
  "failed": "bad",
  "killed": "bad"
};

function verdictSection(run) {
  const verdict = run.verdict || {};
  const tone = Object.prototype.hasOwnProperty.call(kStates, verdict.state) ?
      kStates[verdict.state] :
      "warn";
  const looks = list(verdict.look_at);
  return [
    verdict.details ? foldedText(verdict.details) : null,
    verdict.state ?
        element(
            "p", {class: `state ${tone}`}, element("span", {}, "State: "), prose(verdict.state)) :
        null,
    list(verdict.facts).length ? factList(verdict.facts, "figures") : null,
    looks.length ? element("h3", {}, "Where to look") : null,
    looks.length ? element(
                       "ul", {class: "looks"},
                       looks.map(
                           (look) => element(
                               "li", {},
                               kSections.some((section) => section.id === look.section) ?
                                   element("a", {href: `#${look.section}`}, prose(look.text)) :
                                   prose(look.text)))) :
                   null,
  ];
}

// Keys in which the configs of several runs differ.
function differencesTable(data) {
  const rows = list(data.differences);
  if (data.runs.length < 2) return null;
  if (!rows.length) return element("p", {class: "quiet"}, "The configs of the runs are the same.");
  const table = titledTable({
    caption: "Differences between the runs' configs",
    rows,
    most: 40,
    columns: [
      {name: "key", code: true, value: (row) => row.key},
      ...data.runs.map((run, index) => ({
                         name: runName(data.runs, index).slice(0, 80),
                         code: true,
                         value: (row) => {
                           const value = list(row.values)[index];
                           return value === null || value === undefined ? "not there" : value;
                         }
                       }))
    ]
  });
  if (rows.length <= 20) return table;
  return element(
      "details", {class: "data"},
      element(
          "summary", {}, `${d3.format(",")(rows.length)} differences between the runs' configs`),
      table);
}

// How each of several runs ended, side by side.
function runsTable(data) {
  if (data.runs.length < 2) return null;
  const fact = (name) => (row) => {
    const facts = list((row.run.verdict || {}).facts);
    const found = facts.find((each) => each.name === name);
    return found ? found.value : kNothing;
  };
  return titledTable({
    caption: "Runs",
    rows: data.runs.map((run, index) => ({run, name: runName(data.runs, index)})),
    most: 40,
    columns: [
      {name: "run", code: true, value: (row) => row.name},
      {name: "state", value: (row) => asText((row.run.verdict || {}).state) || kNothing},
      ...["last step", "last train/loss", "best eval/loss", "steps per second"].map(
          (name) => ({name, value: fact(name)}))
    ]
  });
}

// Lines of a text of which the first are enough to see what it is.
const kFoldedLines = 12;

function foldedText(text) {
  const lines = asText(text).split("\n");
  const shown = element("bdi", {}, lines.slice(0, kFoldedLines).join("\n"));
  const box = element("pre", {class: "text wraps", tabindex: 0}, shown);
  if (lines.length <= kFoldedLines) return box;
  const unfold =
      button(`${d3.format(",")(lines.length - kFoldedLines)} more lines`, {class: "quiet"}, () => {
        shown.textContent = asText(text);
        unfold.remove();
      });
  return element("div", {class: "details"}, box, unfold);
}
