// Axes of charts, and texts that fit beside marks.

// Numbers the definitions of a page's drawings, whose ids must differ.
let definitionCount = 0;

// The inside of margins: groups for axes, for marks, which are cut at its border, and for what lies
// above.
function plotArea(svg, width, height, margin) {
  const inner = {
    width: Math.max(1, width - margin.left - margin.right),
    height: Math.max(1, height - margin.top - margin.bottom)
  };
  const plot = svg.append("g").attr("transform", `translate(${margin.left},${margin.top})`);
  const clip = `clip-${++definitionCount}`;
  svg.append("clipPath")
      .attr("id", clip)
      .append("rect")
      .attr("x", -1)
      .attr("y", -4)
      .attr("width", inner.width + 2)
      .attr("height", inner.height + 5);
  return {
    plot,
    axes: plot.append("g"),
    marks: plot.append("g").attr("clip-path", `url(#${clip})`),
    top: plot.append("g"),
    width: inner.width,
    height: inner.height
  };
}

const kLeastLeft = 50, kMostLeft = 110, kTickPadding = 6;

function ticksUp(height) { return Math.max(2, Math.floor(height / 40)); }

// The room that the ticks of y need left of a plot of a height, in steps: charts above each other
// are mostly as wide as each other.
function leftMargin(svg, height, y) {
  const axis = tickedAxis(d3.axisLeft(y.scale), y, ticksUp(height)), scale = y.scale;
  const arguments_ = axis.tickArguments();
  const values = axis.tickValues() || scale.ticks(...arguments_),
        text = axis.tickFormat() || scale.tickFormat(...arguments_);
  const probe = svg.append("text");
  const widest =
      d3.max(values, (value) => probe.text(text(value)).node().getComputedTextLength()) || 0;
  probe.remove();
  const needed = Math.ceil((widest + kTickPadding + 2) / 10) * 10;
  return Math.max(kLeastLeft, Math.min(kMostLeft, needed));
}

// The axes of a plot; `x`, `y`: {scale, label, text: of a tick, whole: only whole numbers}.
function drawAxes(area, x, y) {
  area.axes.selectAll("*").remove();
  const across = Math.max(2, Math.floor(area.width / 75)), up = ticksUp(area.height);
  if (y) {
    const axis =
        tickedAxis(d3.axisLeft(y.scale), y, up).tickSize(-area.width).tickPadding(kTickPadding);
    area.axes.append("g").attr("class", "axis grid").call(axis);
    if (y.label)
      area.axes.append("text").attr("class", "unit").attr("x", 0).attr("y", -9).text(y.label);
  }
  if (x) {
    const axis = tickedAxis(d3.axisBottom(x.scale), x, across).tickSizeOuter(0).tickPadding(5);
    area.axes.append("g")
        .attr("class", "axis")
        .attr("transform", `translate(0,${area.height})`)
        .call(axis);
    if (x.label) {
      area.axes.append("text")
          .attr("class", "unit")
          .attr("text-anchor", "end")
          .attr("x", area.width)
          .attr("y", area.height + 34)
          .text(x.label);
    }
  }
  // Lines without a number, of logarithmic axes, stand back.
  for (const side of [x, y]) {
    if (side && side.scale.base) thinTickTexts(area.axes);
  }
  area.axes.selectAll(".tick").classed("minor", function() { return !this.textContent; });
}

// Ticks of a logarithmic axis are not evenly spaced: texts that would meet another's are left out,
// powers of ten last.
function thinTickTexts(axes) {
  const placed = [], isPower = (value) => Number.isInteger(+Math.log10(value).toFixed(9));
  const ticks = axes.selectAll(".tick").nodes().filter((node) => node.textContent);
  ticks.sort((a, b) => isPower(b.__data__) - isPower(a.__data__));
  for (const tick of ticks) {
    const box = tick.querySelector("text").getBoundingClientRect();
    const free = placed.every(
        (other) => box.right + 4 < other.left || box.left > other.right + 4 ||
            box.bottom < other.top || box.top > other.bottom);
    if (free) placed.push(box);
    else
      tick.querySelector("text").textContent = "";
  }
}

function tickedAxis(axis, side, count) {
  const scale = side.scale;
  if (!scale.ticks) return axis;
  if (side.whole && !scale.base) {
    return axis.tickValues(scale.ticks(count).filter(Number.isInteger))
        .tickFormat(wholeTick(scale, count));
  }
  if (!scale.base)
    return side.text ? axis.ticks(count).tickFormat(side.text) :
                       axis.tickValues(scale.ticks(count)).tickFormat(linearTick(scale, count));
  // Less than a decade has too few ticks of its own.
  const [low, high] = d3.extent(scale.domain());
  if (high < 10 * low && scale.ticks(count).length < 3) {
    return axis.tickValues(d3.ticks(low, high, count))
        .tickFormat(tickText(d3.tickFormat(low, high, count, largeOrSmall(high))));
  }
  return axis.ticks(Math.max(4, count), powerTick);
}

function powerTick(value) { return tickText(d3.format(largeOrSmall(value) || "~r"))(value); }

function tickText(format) { return (value) => trimmedNumber(format(value)); }

// 12k, 1.2M; beyond the usual prefixes 1.2e+20; 1.2e-6.
function largeOrSmall(largest) {
  return largest >= 1e15 || largest < 1e-3 ? "e" : largest >= 1e4 ? "~s" : undefined;
}

function wholeTick(scale, count) {
  const largest = d3.max(scale.domain(), Math.abs);
  return largest < 1e4 ? d3.format(",d") : linearTick(scale, count);
}

// 1.2e-6, 0.0012, 12, 1,200, 12k, 1.2M; with as many digits as tell ticks apart.
function linearTick(scale, count) {
  const largest = d3.max(scale.domain(), Math.abs);
  if (largest >= 5e-4 && largest < 1e4) return scale.tickFormat(count);
  const prefix = tickText(scale.tickFormat(count, largeOrSmall(largest)));
  return (value) => value === 0 ? "0" : prefix(value);
}

// Cuts a text to a width; hovering shows all of it.
function fitText(selection, value, room) {
  const text = asText(value), node = selection.node();
  let shown = text.slice(0, 300);
  selection.text(shown);
  let length = node.getComputedTextLength();
  while (length > room && shown.length > 1) {
    shown = shown.slice(
        0, Math.max(1, Math.min(shown.length - 1, Math.floor(shown.length * room / length))));
    selection.text(`${shown}…`);
    length = node.getComputedTextLength();
  }
  if (length > room) selection.text("");
  if (selection.text() !== text) showsTip(selection, () => [{text}]);
  return selection;
}
