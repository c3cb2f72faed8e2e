// Bytes that live while a program runs, command by command.

// {size, name}: the unit in which the axis of a largest value has small numbers.
function byteUnit(largest) {
  const power = largest > 0 ? Math.min(5, Math.max(0, Math.floor(Math.log2(largest) / 10))) : 0;
  return {size: Math.pow(1024, power), name: ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][power]};
}

function scaledTo(scale, unit) {
  return scale.copy().domain(scale.domain().map((value) => value / unit.size));
}

function liveBytesFigure(program) {
  const live = list(program.live_bytes), commands = list(program.commands);
  const peak = Number.isInteger(program.peak) && isNumber(live[program.peak]) ?
      program.peak :
      d3.scan(live, (a, b) => b - a);
  const view = {
    domain: null,
    cursor: null,
    full: () => [0, Math.max(1, live.length)],
    change(domain) {
      view.domain = domain;
      redraw(figure.chart);
    },
    hover(value, event) {
      view.cursor = value;
      if (value === null) return hideTip();
      const index = Math.max(0, Math.min(live.length - 1, Math.floor(value)));
      const box = figure.chart.svg.node().getBoundingClientRect();
      showTip(
          [{text: `command ${index}`, value: bytesText(live[index])}, {text: commands[index]}],
          event ? event.clientX : box.left + box.width / 2, event ? event.clientY : box.top + 40);
    },
  };
  const figure = chartFigure({
    title: `Live bytes over the commands of the ${plainText(program.name)} program`,
    height: 230,
    keys: (event) => zoomKeys(view, event),
    says: `Bytes that live at each of ${live.length} commands; the peak is ${
        bytesText(live[peak])} at command ${peak}`,
    table: () => ({
      caption: "Live bytes by command",
      rows: d3.range(live.length),
      columns: [
        {name: "command", kind: "count", value: (i) => i},
        {name: "live", kind: "bytes", value: (i) => live[i]},
        {name: "what", wide: true, code: true, value: (i) => commands[i]}
      ]
    }),
    draw: (svg, width, height) =>
        drawLiveBytes(svg, width, height, {live, peak, view, command: commands[peak]}),
  });
  return figure;
}

function drawLiveBytes(svg, width, height, {live, peak, view, command}) {
  const area = plotArea(svg, width, height, {left: 50, right: 22, top: 30, bottom: 42});
  const x = d3.scaleLinear().domain(view.domain || view.full()).range([0, area.width]);
  const largest = d3.max(live) || 1, unit = byteUnit(largest);
  const y = d3.scaleLinear().domain([0, largest * 1.04]).range([area.height, 0]);
  drawAxes(
      area, {scale: x, label: "command", whole: true},
      {scale: scaledTo(y, unit), label: unit.name});
  const [from, to] = [
    Math.max(0, Math.floor(x.domain()[0]) - 1), Math.min(live.length, Math.ceil(x.domain()[1]) + 1)
  ];
  // A command holds its bytes from its place to the next one.
  const stairs = d3.range(from, to + 1), value = (i) => live[Math.min(i, live.length - 1)];
  area.marks.append("path")
      .attr("class", "live")
      .attr(
          "d",
          d3.area()
              .curve(d3.curveStepAfter)
              .x((i) => x(i))
              .y0(area.height)
              .y1((i) => y(value(i)))(stairs));
  area.marks.append("path")
      .attr("class", "line c0")
      .attr("d", d3.line().curve(d3.curveStepAfter).x((i) => x(i)).y((i) => y(value(i)))(stairs));
  zoomable(area, svg, view, x);
  const at = x(peak + 0.5);
  if (at >= 0 && at <= area.width) {
    area.top.append("circle")
        .attr("class", "odd c1")
        .attr("r", 4.5)
        .attr("cx", at)
        .attr("cy", y(live[peak]));
  }
  fitText(
      area.plot.append("text")
          .attr("class", "soft")
          .attr("x", area.width)
          .attr("y", -12)
          .attr("text-anchor", "end"),
      `peak: ${bytesText(live[peak])} at command ${peak}${command ? `, ${command}` : ""}`,
      area.width - 40);
}
