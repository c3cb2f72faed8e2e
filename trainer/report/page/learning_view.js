// What all charts of learning share: the range shown, the cursor, how x is measured, smoothing, the
// scale of y.

function learningView(runs) {
  const hidden = new Set();
  const view = {
    runs,
    lines: [],
    charts: [],
    domain: null,
    cursor: null,
    smoothing: 0,
    log: false,
    mode: "step",
    isShown: (run) => !hidden.has(run),
    show(run, shown) {
      if (shown) hidden.delete(run);
      else
        hidden.add(run);
      view.update();
    },
    progress: () => kProgress.find((each) => each.value === view.mode),
    label: () => view.mode === "wall" ? `wall time, ${timeUnit(view).name}` : view.progress().unit,
    tick: () => view.mode === "wall" ?
        (value) => d3.format("~r")(+(value / timeUnit(view).seconds).toPrecision(6)) :
        undefined,
    full() {
      if (!view.whole || view.whole.mode !== view.mode) {
        const ends = view.lines.flatMap((line) => {
          const x = linePoints(line, view.progress()).x;
          return [x[0], x[x.length - 1]];
        });
        const [from, to] = d3.extent(ends.filter(isNumber));
        view.whole = {
          mode: view.mode,
          domain: from === undefined ? [0, 1] :
              from === to            ? [from - 0.5, to + 0.5] :
                                       [from, to]
        };
      }
      return view.whole.domain;
    },
    smooth: (line) => smoothed(line, view.smoothing, view.steps()),
    // From the first to the last step of all runs.
    steps() {
      if (view.length === undefined) {
        const [from, to] =
            d3.extent(view.lines.flatMap((line) => d3.extent(list(line.series.step))));
        view.length = from === undefined ? 1 : to - from;
      }
      return view.length;
    },
    // Where the cursor is, as exactly as the points are.
    exact(at, lines) {
      if (view.mode === "wall") return secondsText(at);
      const x = lines.length ? linePoints(lines[0], view.progress()).x : [];
      return d3.format(",")(x.length ? x[nearestIndex(x, at)] : Math.round(at));
    },
    change(domain) {
      view.domain = domain;
      view.update();
    },
    // Once for all events of a frame.
    update() {
      if (view.awaited) return;
      view.awaited = requestAnimationFrame(() => {
        view.awaited = null;
        for (const chart of view.charts) {
          if (!chart.update || !chart.near) chart.stale = true;
          else
            chart.update();
        }
      });
    },
    hover(value, event, chart) {
      view.cursor = value;
      for (const each of view.charts) {
        if (each.near && each.moveCursor) each.moveCursor();
      }
      const source =
          chart || view.charts.find((each) => each.svg.node() === document.activeElement);
      if (value === null || !source || !source.readout) return hideTip();
      const [x, y] = event ? [event.clientX, event.clientY] : source.position(value);
      showTip(source.readout(value), x, y);
    },
  };
  return view;
}

// Ticks of a clock are multiples of a unit that is near to its length.
function timeUnit(view) {
  const units = [
    {name: "days", seconds: 86400}, {name: "h", seconds: 3600}, {name: "min", seconds: 60},
    {name: "s", seconds: 1}
  ];
  const longest = view.full()[1];
  return units.find((unit) => longest >= 2 * unit.seconds) || units[3];
}

function highlightRun(view, run) {
  for (const chart of view.charts)
    chart.svg.selectAll("path.main").classed("faded", (line) => run !== null && line.run !== run);
}

// The kind of a scale changes what a chart is made of.
function redrawView(view) {
  for (const chart of view.charts) redraw(chart);
}
