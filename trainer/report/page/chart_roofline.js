// The roofline of a machine, after Williams, Waterman and Patterson (2009): rates of work over work
// per byte, under the roofs that memory and arithmetic are. A point's area is its time.

function rooflineFigure(roofline) {
  const points =
      list(roofline.points).filter((point) => point.flops_per_byte > 0 && point.flops_per_s > 0);
  const works = [...new Set(points.map((point) => asText(point.work)))];
  const device = roofline.device && list(roofline.device.roofs).length ? roofline.device : null;
  const state = {device: Boolean(device), transform: d3.zoomIdentity};
  const machines = () =>
      [{machine: roofline, name: "roof"},
       ...(device && state.device ? [{machine: device, name: "roof device"}] : [])];
  const kind = (point) => works.indexOf(asText(point.work));
  const reset = () => {
    state.transform = d3.zoomIdentity;
    redraw(figure.chart);
  };
  const figure = chartFigure({
    title: `Roofline of ${plainText(roofline.name) || "this machine"}`,
    name: "roofline",
    group: true,
    says: `Roofline: ${points.length} parts of the step by work per byte and rate of work, ` +
        "below the limits of memory and arithmetic",
    height: (width) => Math.max(300, Math.min(440, width * 0.45)),
    tools: device ? [toggle(
                        "simulated device", true,
                        (on) => {
                          state.device = on;
                          reset();
                        })] :
                    [],
    below: element(
        "div", {}, shapeLegend(works),
        element(
            "p", {class: "hint"},
            "The area of a mark is its time. The wheel zooms the focused chart, a drag moves it, " +
                "Esc shows all.")),
    keys: (event) => {
      if (event.key === "Escape") reset();
    },
    table: () => ({
      caption: "Roofline",
      rows: points,
      columns: [
        {name: "part", wide: true, value: (point) => point.label},
        {name: "work", value: (point) => point.work},
        {name: "time", kind: "ms", value: (point) => point.ms},
        {name: "flops per byte", kind: "number", value: (point) => point.flops_per_byte},
        {name: "rate", kind: "flop_rate", value: (point) => point.flops_per_s}
      ]
    }),
    draw: (svg, width, height) =>
        drawRoofline(svg, width, height, {points, machines: machines(), kind, state, reset}),
  });
  return figure;
}

function shapeLegend(works) {
  return element("ul", {class: "legend"}, works.map((work, index) => {
    const svg = d3.create("svg")
                    .attr("class", "shape")
                    .attr("viewBox", "-6 -6 12 12")
                    .attr("aria-hidden", true);
    svg.append("path")
        .attr("class", `c${index % kColours}`)
        .attr("d", d3.symbol().type(d3.symbols[index % d3.symbols.length]).size(50)());
    return element("li", {}, svg.node(), prose(work));
  }));
}

function roofsOf(machine) {
  return list(machine.roofs).filter((roof) => roof.flops_per_s > 0 && machine.bytes_per_s > 0);
}

function drawRoofline(svg, width, height, {points, machines, kind, state, reset}) {
  const area = plotArea(svg, width, height, {left: 58, right: 22, top: 26, bottom: 42});
  const ridges = machines.flatMap(
      ({machine}) => roofsOf(machine).map((roof) => roof.flops_per_s / machine.bytes_per_s));
  const tops = machines.flatMap(({machine}) => roofsOf(machine).map((roof) => roof.flops_per_s));
  const [left, right] = d3.extent([...points.map((point) => point.flops_per_byte), ...ridges]);
  const [low, high] = d3.extent([...points.map((point) => point.flops_per_s), ...tops]);
  const x =
      state.transform.rescaleX(d3.scaleLog().domain([left / 2, right * 4]).range([0, area.width]));
  const y =
      state.transform.rescaleY(d3.scaleLog().domain([low / 2, high * 2]).range([area.height, 0]));
  drawAxes(area, {scale: x, label: "flop per byte"}, {scale: y, label: "flop/s"});
  const names = [], layer = area.top.append("g"),
        labels = area.top.append("g").attr("class", "labels");
  for (const {machine, name} of machines) {
    for (const roof of roofsOf(machine)) {
      const [from, to] = x.domain(),
                   rate = (intensity) =>
                       Math.min(roof.flops_per_s, intensity * machine.bytes_per_s);
      const ridge = Math.max(from, Math.min(to, roof.flops_per_s / machine.bytes_per_s));
      area.marks.append("path").attr("class", name).attr("d", d3.line()([
        from, ridge, to
      ].map((at) => [x(at), y(rate(at))])));
      // A roof out of sight has no name.
      if (y(roof.flops_per_s) < 0 || y(roof.flops_per_s) > area.height) continue;
      // A name stands above its roof, or below it if another stands there, or else further away.
      const free = (line) =>
          line > 8 && line < area.height && names.every((other) => Math.abs(other - line) >= 17);
      const line =
          d3.range(5)
              .flatMap((i) => [y(roof.flops_per_s) - 5 - 17 * i, y(roof.flops_per_s) + 13 + 17 * i])
              .find(free);
      if (line === undefined) continue;
      names.push(line);
      fitText(
          labels.append("text")
              .attr("class", "soft halo")
              .attr("x", area.width)
              .attr("y", line)
              .attr("text-anchor", "end"),
          `${name === "roof" ? "" : `${plainText(machine.name)}, `}${plainText(roof.name)}: ${
              prefixed(roof.flops_per_s, "flop/s")}`,
          area.width * 0.7);
    }
  }
  const longest = d3.max(points, (point) => point.ms) || 1;
  layer.append("rect")
      .attr("class", "behind")
      .attr("width", area.width)
      .attr("height", area.height);
  const zoom = d3.zoom()
                   .scaleExtent([1, 60])
                   .extent([[0, 0], [area.width, area.height]])
                   .translateExtent([[0, 0], [area.width, area.height]])
                   .filter(
                       () => d3.event.type !== "wheel" || d3.event.ctrlKey ||
                           svg.node() === document.activeElement)
                   .on("start",
                       () => {
                         if (!following) svg.node().focus({preventScroll: true});
                       })
                   .on("zoom", () => {
                     if (following) return;
                     state.transform = d3.event.transform;
                     requestAnimationFrame(() => move());
                   });
  let following = true;
  layer.call(zoom)
      .call(zoom.transform, state.transform)
      .on("dblclick.zoom", null)
      .on("dblclick", reset)
      .style("touch-action", "pan-y");
  following = false;
  const clip = layer.append("g").attr("clip-path", area.marks.attr("clip-path"));
  const marks =
      clip.selectAll("path")
          .data(points.slice().sort((a, b) => b.ms - a.ms))
          .enter()
          .append("path")
          .attr("class", (point) => `point c${kind(point) % kColours}`)
          .attr(
              "d",
              (point) =>
                  d3.symbol()
                      .type(d3.symbols[kind(point) % d3.symbols.length])
                      .size((24 + 400 * (point.ms || 0) / longest) * Math.min(1, width / 800))())
          .attr(
              "transform",
              (point) => `translate(${x(point.flops_per_byte)},${y(point.flops_per_s)})`);
  showsTip(
      marks,
      (point) =>
          [{text: point.label, value: millisecondsText(point.ms)},
           {text: "rate", value: prefixed(point.flops_per_s, "flop/s")},
           {text: "work per byte", value: `${plainNumber(point.flops_per_byte)} flop`}]);
  // The layer that a gesture began on must stay: the rest is drawn around it.
  const move = () => {
    svg.selectAll("*").filter(function() { return this !== svg.node(); }).remove();
    drawRoofline(svg, width, height, {points, machines, kind, state, reset});
  };
}
