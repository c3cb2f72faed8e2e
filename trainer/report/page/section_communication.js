// Communication: when each bucket of gradients is all-reduced, and how much of that the device
// waits for.

function communicationSection(run) {
  const communication = run.communication || {}, buckets = list(communication.buckets);
  const facts = [];
  if (isNumber(communication.step_ms))
    facts.push({name: "mean step", value: millisecondsText(communication.step_ms)});
  if (isNumber(communication.all_reduce_ms))
    facts.push({name: "all-reduce", value: millisecondsText(communication.all_reduce_ms)});
  if (isNumber(communication.exposed_ms))
    facts.push({name: "not hidden behind work", value: millisecondsText(communication.exposed_ms)});
  return [
    facts.length ? factList(facts) : null,
    buckets.some((bucket) => isNumber(bucket.begin_ms) && isNumber(bucket.end_ms)) ?
        bucketsFigure(communication, buckets) :
        null,
    buckets.length ? titledTable(bucketTable(buckets)) : null,
  ];
}

function bucketTable(buckets) {
  const length = (bucket) =>
      isNumber(bucket.begin_ms) && isNumber(bucket.end_ms) ? bucket.end_ms - bucket.begin_ms : null;
  return {
    caption: "Buckets",
    rows: buckets,
    most: 60,
    columns: [
      {name: "bucket", kind: "count", value: (bucket) => bucket.bucket},
      {name: "size", kind: "bytes", value: (bucket) => bucket.bytes},
      {name: "begin", kind: "ms", value: (bucket) => bucket.begin_ms},
      {name: "end", kind: "ms", value: (bucket) => bucket.end_ms},
      {name: "length", kind: "ms", value: length},
      {name: "exposed", kind: "ms", value: (bucket) => bucket.exposed_ms},
      {name: "calibrated", kind: "ms", value: (bucket) => bucket.calibrated_ms}
    ]
  };
}

function bucketsFigure(communication, buckets) {
  const timed = buckets.filter((bucket) => isNumber(bucket.begin_ms) && isNumber(bucket.end_ms));
  const rules =
      [
        {at: communication.gradient_end_ms, text: "gradient program ends"},
        {at: communication.update_begin_ms, text: "update program begins"}
      ].filter((rule) => isNumber(rule.at))
          .map(
              (rule) =>
                  Object.assign(rule, {text: `${rule.text} at ${millisecondsText(rule.at)}`}));
  const last = d3.max([
    ...timed.map((bucket) => bucket.end_ms), ...rules.map((rule) => rule.at),
    communication.step_ms || 0
  ]) ||
      1;
  return spansFigure(
      timed.map((bucket) => {
        // What is exposed is the end of a bucket: the device waits for it when its own work is
        // done.
        const exposed = Math.min(bucket.exposed_ms || 0, bucket.end_ms - bucket.begin_ms),
              border = bucket.end_ms - exposed;
        const spans = [{from: bucket.begin_ms, to: border, mark: "c0"}];
        if (exposed > 0) spans.push({from: border, to: bucket.end_ms, mark: "c1", hatched: true});
        return {
          name: `bucket ${plainText(bucket.bucket)}`,
          text: bytesText(bucket.bytes),
          spans,
          tip: [
            {text: `bucket ${plainText(bucket.bucket)}`, value: bytesText(bucket.bytes)},
            {text: "begin", value: millisecondsText(bucket.begin_ms)},
            {text: "end", value: millisecondsText(bucket.end_ms)},
            {text: "exposed", value: millisecondsText(bucket.exposed_ms)}
          ]
        };
      }),
      {
        title: "Buckets in time, from the start of the execution",
        domain: [0, last],
        label: "ms",
        rules,
        name: "buckets",
        says: `Bars of ${
            timed.length} buckets of gradients in time; what the device waits for is striped`,
        legend: [
          {name: "hidden behind work", mark: "c0"},
          {name: "exposed: the device waits", mark: "c1 striped"}
        ],
        table: () => bucketTable(buckets),
      });
}
