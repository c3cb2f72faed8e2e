// Learning: every series of every run over its progress, with one cursor and one range for all
// charts.

function learningSection(data, chosen) {
  const runs = data.runs.map((run) => Object.assign({}, run, {learning: run.learning || {}}));
  const view = learningView(runs);
  const panels =
      kPanels
          .map(
              (panel) =>
                  ({panel, charts: panel.groups.flatMap((group) => chartsOfGroup(group, runs))}))
          .filter((each) => each.charts.length);
  if (!panels.length) return [];
  view.lines = panels.flatMap((each) => each.charts.flatMap((chart) => chart.lines));
  const legend = element("div"), table = element("div");
  view.restart = () => {
    view.events = placedEvents(runs[view.chosen].learning, view.progress());
    view.change(null);
  };
  // Charts show all runs; events are those of the chosen one.
  const choose = (index) => {
    view.chosen = index;
    const events = list(runs[index].learning.events);
    legend.replaceChildren(...events.length ? [eventLegend(events)] : []);
    table.replaceChildren(
        ...events.length ?
            [element(
                "details", {class: "data"}, element("summary", {}, "Events as a table"),
                titledTable(eventTable(events)))] :
            []);
    view.events = placedEvents(runs[index].learning, view.progress());
    view.update();
  };
  choose(chosen);
  const made = [learningControls(view, runs), legend];
  for (const {panel, charts} of panels) {
    made.push(
        element("h3", {class: "group"}, panel.label),
        element(
            "div", {class: panel.main ? "charts main" : "charts"},
            charts.map(
                (chart) => lineChart(
                    view, chart,
                    panel.main ? {
                      height: (width) => Math.max(260, Math.min(360, width * 0.36)),
                      get events() { return view.events; }
                    } :
                                 {height: 210}))));
  }
  legend.choose = choose;
  return [...made, table];
}

function learningControls(view, runs) {
  const learnings = runs.map((run) => run.learning);
  const ways = kProgress.filter((progress) => canMeasure(learnings, progress));
  const slider = element(
      "input", {type: "range", min: 0, max: 0.99, step: 0.01, value: 0, "aria-label": "smoothing"});
  const shown = element("output", {}, "0");
  slider.addEventListener("input", () => {
    view.smoothing = Number(slider.value);
    shown.textContent = slider.value;
    view.update();
  });
  const bar = element(
      "div", {class: "controls"},
      ways.length > 1 ? element(
                            "div", {class: "control"}, element("span", {}, "over"),
                            choice(
                                "x axis", ways, "step",
                                (mode) => {
                                  view.mode = mode;
                                  view.cursor = null;
                                  view.restart();
                                })) :
                        null,
      element("label", {class: "control"}, element("span", {}, "smoothing"), slider, shown),
      toggle(
          "log y", false,
          (on) => {
            view.log = on;
            redrawView(view);
          }),
      button("reset zoom", {class: "toggle"}, () => view.change(null)),
      element("p", {class: "hint"}, kZoomHint));
  if (runs.length === 1) return bar;
  return element(
      "div", {},
      element(
          "div", {class: "legend runs", role: "group", "aria-label": "runs shown"},
          runs.map((run, index) => {
            const made = toggle("", true, (on) => view.show(index, on));
            made.addEventListener("mouseenter", () => highlightRun(view, index));
            made.addEventListener("mouseleave", () => highlightRun(view, null));
            made.append(
                element("i", {class: runMark(index), "aria-hidden": true}),
                prose(runName(runs, index)));
            return made;
          })),
      bar);
}
