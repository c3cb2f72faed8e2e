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
  return titledTable({
    caption: "Differences between the runs' configs",
    rows,
    most: 40,
    columns: [
      {name: "key", code: true, value: (row) => row.key},
      ...data.runs.map((run, index) => ({
                         name: asText(run.name).slice(0, 40),
                         code: true,
                         value: (row) => {
                           const value = list(row.values)[index];
                           return value === null || value === undefined ? kNothing : value;
                         }
                       }))
    ]
  });
}
