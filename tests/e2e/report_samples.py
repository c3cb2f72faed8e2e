"""Data objects of a report, made up, and the page around one: what report_page_test.py shows to a browser.

The objects have the form that the report's page reads. Numbers come from a fixed seed."""
import copy
import functools
import json
import math
import random
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "trainer" / "report" / "page"
D3 = Path("/usr/share/nodejs/d3/dist/d3.min.js")
LICENCE = Path("/usr/share/doc/node-d3/copyright")
SECTIONS = ("verdict", "learning", "step", "ranks", "ops", "memory", "compilation", "communication", "graph",
            "foresight", "reproduce")
#: Texts that must stay texts: markup, ends of scripts, quotes, marks of direction, control characters, and length.
HOSTILE = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "\u202egnirts desrever\u2066",
           "a\u0000b\u001b[31m", "'; --", "`${alert(3)}`", "&lt;b&gt;&amp;", "x" * 10_000, "שלום עולם (1.5) ms",
           "__proto__", "constructor", "日本語" * 40)


@functools.cache
def empty_page():
    """The page without its data, as it is part of the program."""
    scripts = "\n".join(path.read_text() for path in sorted(PAGE.glob("*.js")))
    page = (PAGE / "page.html").read_text()
    for marker, value in (("style", (PAGE / "page.css").read_text()), ("d3", D3.read_text()), ("script", scripts),
                          ("licence", html_text(LICENCE.read_text()))):
        page = page.replace(f"@report_{marker}@", value, 1)
    return page


def assemble(data):
    """The page with its data, as the report command writes it."""
    return empty_page().replace("@report_data@", json.dumps(data).replace("<", "\\u003c"), 1)


def html_text(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def report(*runs, notices=(), differences=None):
    return {"format": "lockstep report", "version": 1,
            "made": {"at": "2026-11-28T17:40:00Z", "lockstep": "0.9.0",
                     "command": "lockstep report " + " ".join(run["folder"] for run in runs)},
            "notices": list(notices), "runs": list(runs),
            **({"differences": differences} if differences is not None else {})}


def section(finding, sources=("metrics.jsonl",), **fields):
    return {"finding": finding, "sources": [source if " " in source else f"runs/gpt_char/{source}"
                                            for source in sources], **fields}


def lengthen(metrics, count):
    """Makes the file of a run's measurements longer: its last record again and again, at steps up to `count`."""
    *before, last = metrics.read_text().splitlines()
    record = json.loads(last)
    with metrics.open("w") as file:
        for line in before:
            file.write(line + "\n")
        for step in range(record["step"], count + 1):
            record.update({"step": step, "wall_time": record["wall_time"] + 0.1, "train/loss": 4 - step % 7 / 100})
            file.write(json.dumps(record) + "\n")


def short(value, most=3):
    """The same with at most so many elements in each list."""
    if isinstance(value, dict):
        return {key: short(each, most) for key, each in value.items()}
    return [short(each, most) for each in value[:most]] if isinstance(value, list) else value


def full_run(name="gpt_char", seed=1, ranks=4, steps=5000, points=500):
    """A run that has everything."""
    draw = random.Random(seed)
    run = {"name": name, "folder": f"runs/{name}"}
    for part in (verdict, learning, step, rank_times, ops, memory, compilation, communication, graph, foresight,
                 reproduce):
        key = {"rank_times": "ranks"}.get(part.__name__, part.__name__)
        run[key] = part(draw, ranks, steps, points)
    return run


def verdict(draw, ranks, steps, points):
    facts = [("last step", str(steps)), ("last train/loss", "1.4312"), ("best eval/loss", "1.4698 at step 4750"),
             ("time from first to last record", "28.6 s"), ("steps per second", "175.13"),
             ("tokens per second", "717 k"), ("peak memory", "48.2 MiB"), ("ranks", str(ranks))]
    return section("The run finished all 5,000 steps and its loss fell from 4.21 to 1.43.",
                   state="finished", facts=[{"name": key, "value": value, "source": "metrics.jsonl"}
                                            for key, value in facts],
                   look_at=[{"text": "3 of 4 ranks wait 11 % of each step for rank 2", "section": "ranks"},
                            {"text": "2 recompilations took 2.6 s, because batch.tokens had 3 lengths",
                             "section": "compilation"},
                            {"text": "12 steps took more than 1.5 times the median", "section": "step"}])


def learning(draw, ranks, steps, points):
    at = [1 + round(i * (steps - 1) / max(1, points - 1)) for i in range(points)]
    noise = lambda size: draw.gauss(0, size)
    loss = [1.38 + 2.8 * math.exp(-4 * s / steps) + noise(0.05) for s in at]
    if points > 40:
        loss[30] = None
    evals = at[::max(1, points // 20)]
    series = [("train/loss", "loss", at, loss),
              ("eval/loss", "loss", evals, [1.42 + 2.7 * math.exp(-4 * s / steps) + noise(0.01) for s in evals]),
              ("train/accuracy", "metric", at, [0.6 - 0.5 * math.exp(-4 * s / steps) + noise(0.01) for s in at]),
              ("eval/accuracy", "metric", evals, [0.58 - 0.5 * math.exp(-4 * s / steps) for s in evals]),
              ("eval/perplexity", "metric", evals, [math.exp(1.42 + 2.7 * math.exp(-4 * s / steps)) for s in evals]),
              ("lr", "rate", at, [1e-3 * min(1, s / (steps * 0.05)) * (0.55 + 0.45 * math.cos(math.pi * s / steps))
                                  for s in at]),
              ("grad_norm", "norm", at, [0.4 + 2 * math.exp(-9 * s / steps) + abs(noise(0.1)) for s in at]),
              ("perf/step_ms", "speed", at, [5.6 + abs(noise(0.2)) for _ in at]),
              ("perf/ups", "speed", at, [175 + noise(3) for _ in at]),
              ("perf/tokens_per_s", "speed", at, [717_000 + noise(9000) for _ in at]),
              ("perf/input_wait_ms", "speed", at, [abs(noise(0.01)) for _ in at]),
              ("perf/exposed_comm_ms", "speed", at, [0.4 + abs(noise(0.05)) for _ in at]),
              ("sim/step_ms", "virtual", at, [1.9 + noise(0.01) for _ in at]),
              ("sim/tokens_per_s", "virtual", at, [2_150_000 + noise(9000) for _ in at]),
              ("memory/peak_bytes", "memory", at, [50_541_363 for _ in at])]
    events = [{"step": s, "kind": "evaluation", "text": "eval/loss 1.47"} for s in evals[1:]]
    events += [{"step": s, "kind": "save", "text": f"checkpoints/step-{s:08d}.h5"} for s in evals[4::4]]
    events += [{"step": at[len(at) // 5], "kind": "recompilation", "text": "recompiled: batch.tokens[length] 57 -> 61"},
               {"step": at[len(at) // 2], "kind": "resume", "text": f"resumed from step-{at[len(at) // 2]:08d}.h5"},
               {"step": at[len(at) * 3 // 5], "kind": "skipped", "text": "the gradient was not finite"},
               {"step": at[-1], "kind": "end", "text": "all steps are done"}]
    return section("Train loss is 1.43 and still falls slowly; eval loss is 1.47 and has been flat since step 4,250.",
                   ("metrics.jsonl", "events.jsonl"), samples_per_step=64, tokens_per_step=4096,
                   clock={"step": at[::10], "wall": [0.2 + s * 0.00571 for s in at[::10]]},
                   series=[{"name": n, "group": g, "step": x, "value": y} for n, g, x, y in series], events=events)


def step(draw, ranks, steps, points):
    bars = [("gradient dot", "device", 1.9), ("gradient layer_norm", "device", 0.52),
            ("gradient elementwise", "device", 0.71),
            ("gradient attention", "device", 0.83), ("update elementwise", "device", 0.61),
            ("exposed all_reduce", "all-reduce", 0.4),
            ("input wait", "input", 0.02), ("trace and hand over", "host", 0.11),
            ("evaluations and saves", "pauses", 0.31), ("other", "other", 0.3)]
    mean = sum(ms for _, _, ms in bars)
    count = min(steps, 2000)
    at = [2 + i * (steps - 1) // count for i in range(count)]
    ms = [5.5 + abs(draw.gauss(0, 0.15)) for _ in at]
    # The first step is odd, and none of the measured ones.
    odd = [{"step": 1, "ms": 160.0, "cause": "first step of a program", "text": "compiles the step: 150 ms"}]
    for index, cause, long in ((count // 5, "recompilation", 96.0),
                               (count // 3, "evaluation", 31.0),
                               (count // 2, "save", 22.5), (count * 3 // 4, "input", 14.0),
                               (count * 4 // 5, "all-reduce", 11.0), (count * 5 // 6, "slower kernels", 9.5),
                               (count * 7 // 8, "runtime", 9.0)):
        ms[index] = long
        odd.append({"step": at[index], "ms": long, "cause": cause,
                    "text": f"{cause}: takes {long - 5.6:.1f} ms more than the median"})
    low, high = 5.4, 6.4
    counts = [0] * 40
    for value in ms:
        if low <= value < high:
            counts[int((value - low) / (high - low) * 40)] += 1
    ordered = sorted(ms)
    quantiles = [("minimum", 0), ("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("maximum", 1)]
    return section(f"A step takes {mean:.2f} ms, of which products of matrices are 33 %.",
                   ("profile/rank-0.json", "lockstep profile runs/gpt_char"),
                   mean_ms=mean, waterfall=[{"name": n, "group": g, "ms": v} for n, g, v in bars],
                   strip={"rank": 0, "step": at, "ms": ms, "thinned": steps > count,
                          "median_ms": ordered[len(ordered) // 2], "odd": odd},
                   distribution={"from_ms": low, "to_ms": high, "counts": counts, "beyond": sum(v >= high for v in ms)},
                   quantiles=[{"name": n, "ms": ordered[min(len(ordered) - 1, int(q * len(ordered)))]} for n,
                              q in quantiles],
                   simulated={"device": "a100-sxm4-80gb", "mean_ms": 1.9})


def rank_times(draw, ranks, steps, points):
    late = ranks // 2
    rows = [{"rank": r, "host": f"node-{r // 2}", "mean_step_ms": 5.71, "work_ms": 5.31
             if r == late else 4.9 + draw.random() * 0.05,
             "wait_ms": 0.05 if r == late else 0.6, "input_ms": 0.02, "host_ms": 0.11} for r in range(ranks)]
    classes = ["gradient dot", "gradient attention", "gradient elementwise", "gradient layer_norm",
               "update elementwise", "all_reduce", "host"]
    ms = [[(1.9 / (i + 1)) * (1 + draw.gauss(0, 0.01) + (0.2 if r == late and i < 2 else 0)) for r in range(ranks)]
          for i in range(len(classes))]
    return section(f"Rank {late} on node-{late // 2} is late: it works 0.4 ms longer than the others.",
                   ("profile/rank-*.json",),
                   ranks=rows, classes=classes, ms=ms,
                   late={"rank": late, "host": f"node-{late // 2}", "work_ms": 5.31, "others_ms": 4.92,
                         "most": "gradient dot", "most_ms": 0.38})


def ops(draw, ranks, steps, points):
    works = ["dot", "attention", "elementwise", "layer_norm", "gather", "scatter_add", "reduce"]

    def row(program, work, op=None, module=None, line=None):
        ms = draw.random() ** 3 * 0.4 + 0.001
        made = {"program": program, "work": work, "places": draw.randint(1, 8), "ms": ms, "share": ms / 5.71,
                "least_ms": ms * 0.93,
                "count": draw.randint(1, 16), "flops": ms * 9e7 * draw.random(), "bytes": ms * 1.5e7 * draw.random()}
        made.update({key: value for key, value in (("op", op), ("module", module), ("line", line)) if value})
        if draw.random() < 0.8:
            made.update(of_limit=draw.random() * 0.95, skew=draw.random() * 0.1, sim_ms=ms * 0.3,
                        sim_of_limit=draw.random())
        return made

    modules = [f"h.{i}.{part}" for i in range(6) for part in ("ln_1", "attn", "ln_2", "mlp")] + ["wte", "ln_f"]
    by = {"class": [row(p, w) for p in ("gradient", "update") for w in works],
          "op": [row("gradient", draw.choice(works),
                     f"dot_general f32[{64 + i},512] (f32[{64 + i},128], f32[128,512])", draw.choice(modules),
                     f"gpt2.cpp:{40 + i % 30}") for i in range(120)],
          "module": [row("gradient", "all", module=m) for m in modules],
          "line": [row("gradient", "all", line=f"gpt2.cpp:{40 + i}") for i in range(25)]}
    for rows in by.values():
        rows.sort(key=lambda each: -each["ms"])
    points = []
    for each in by["op"][:60]:
        intensity = 10 ** draw.uniform(-1.2, 2.2)
        points.append({"label": f"gradient {each['work']} {each['module']}", "work": each["work"], "ms": each["ms"],
                       "flops_per_byte": intensity,
                       "flops_per_s": min(1e11, 2e10 * intensity) * draw.uniform(0.15, 0.98)})
    roofline = {"name": "this machine, calibrated 2026-11-20", "roofs": [{"name": "fp32 dots", "flops_per_s": 1e11},
        {"name": "fp32 vectors", "flops_per_s": 6e10}],
                "bytes_per_s": 2e10, "points": points,
                "device": {"name": "a100-sxm4-80gb", "roofs": [{"name": "tf32 dots", "flops_per_s": 1.56e14},
                    {"name": "fp32", "flops_per_s": 1.95e13}], "bytes_per_s": 2e12}}
    return section("Three kinds of op take 71 % of the step; gradient dot runs at 84 % of this machine's limit.",
                   ("profile/rank-*.json", "lockstep profile runs/gpt_char --by op"),
                   mean_step_ms=5.71, fused_share=0.31, ranks=ranks, by=by, left_out={"op": {"rows": 120, "ms": 0.02}},
                   roofline=roofline)


def memory(draw, ranks, steps, points):
    parts = [("parameters", 3.2e6), ("optimizer state", 6.4e6), ("gradients", 3.2e6), ("activations", 27.1e6),
             ("scratch", 4.2e6), ("batches", 0.4e6), ("constants", 9000)]
    def program(name, count):
        live = [int(5e6 + 24e6 * math.sin(math.pi * (i + 1) / (count + 1)) + draw.random() * 1e6) for i in range(count)]
        values = [{"name": f"dot_general f32[{64 + i},512]", "module": f"h.{i % 6}.mlp", "line": f"gpt2.cpp:{40 + i}",
                   "bytes": int(3e6 / (i + 1)),
                   "first": draw.randrange(count // 2), "last": draw.randrange(count // 2, count)} for i in range(40)]
        return {"name": name, "commands": [f"dot_general f32[64,512] h.{i % 6}.attn gpt2.cpp:{40 + i % 30}"
                                           for i in range(count)],
                "live_bytes": live, "peak": live.index(max(live)), "values": values}
    return section("The peak is 44.5 MiB, of which activations are 61 %.", ("profile/program.json", "metrics.jsonl"),
                   peak_bytes=int(sum(size for _, size in parts)), limit_bytes=512 << 20,
                   parts=[{"name": n, "bytes": int(b)} for n, b in parts],
                   programs=[program("gradient", 140), program("update", 24)],
                   remedies=["training.precision=bf16-mixed: activations take half",
                             "training.remat=block: activations of one block at a time, 25 % more work"])


def compilation(draw, ranks, steps, points):
    return section("3 programs were compiled, 2 of them because batch.tokens had 3 lengths: 3.9 s.",
                   ("compilations.jsonl", "lockstep profile runs/gpt_char --compilations"),
                   compiled=3, loaded=1, seconds=5.2,
                   causes=[{"cause": "first_compile", "what": "the first step", "compiled": 1, "loaded": 1,
                            "seconds": 1.3},
                           {"cause": "input_shape", "what": "batch.tokens[length] had 3 values (57, 61, 64)",
                            "compiled": 2, "loaded": 0, "seconds": 3.9,
                            "line": "gpt.cpp:120", "remedy": "pad batches to one length: data.padding=max",
                            "with": [{"cause": "derived_shape", "what": "positions follow batch.tokens",
                                      "remedy": "the same"}]}],
                   events=[{"step": 0, "event": "compiled", "seconds": 1.3, "cause": "first_compile",
                            "text": "the first step"},
                           {"step": 12, "event": "compiled", "seconds": 1.9, "cause": "input_shape",
                            "text": "batch.tokens[length] 57 -> 61"},
                           {"step": 40, "event": "loaded", "seconds": 0.02, "cause": "input_shape",
                            "text": "batch.tokens[length] 61 -> 64"}],
                   passes=[{"name": n, "ms": v} for n, v in (("fuse", 12.0), ("simplify", 7.5), ("schedule", 4.1),
                       ("plan memory", 3.3), ("split", 0.8), ("kernels", 1180.0))],
                   reads=[{"line": "boxes.cpp:57", "what": "the value of a tensor is read within a step",
                           "in_step": True, "count": 30, "waited_ms": 93.1, "idle_ms": 41.7}])


def communication(draw, ranks, steps, points):
    buckets = [{"bucket": i, "bytes": 1 << 20, "begin_ms": 0.9 + i * 0.6, "end_ms": 1.6 + i * 0.62, "exposed_ms": 0.0}
               for i in range(6)]
    buckets[-1].update(end_ms=5.0, exposed_ms=0.4)
    return section("All-reduce takes 2.1 ms, of which 0.4 ms are not hidden behind work.", ("profile/rank-0.json",),
                   step_ms=5.71, all_reduce_ms=2.1,
                   exposed_ms=0.4, buckets=buckets, gradient_end_ms=4.6, update_begin_ms=5.0)


def graph(draw, ranks, steps, points):
    def kernel(name, ops_in):
        return {"name": name, "kind": "kernel", "ms": draw.random() * 0.3 + 0.01, "line": "gpt2.cpp:41",
                "detail": f"{name} f32[64,512]",
                "children": [{"name": op, "kind": "op", "line": "gpt2.cpp:44"} for op in ops_in]}

    def node(name, kind, children):
        return {"name": name, "kind": kind, "ms": sum(child["ms"] for child in children), "children": children}
    blocks = [node(f"h.{i}", "module", [node(f"{part}", "module", [kernel("dot_general", []),
        kernel("fused add gelu", ["add", "mul", "tanh"])])
                                        for part in ("ln_1", "attn", "ln_2", "mlp")]) for i in range(6)]
    root = node("step", "program", [node("gradient", "program",
                                         blocks + [node("wte", "module", [kernel("gather", [])])]),
                                    node("update", "program", [kernel("fused adamw", ["mul", "add", "sqrt"])])])
    return section("The step has 58 kernels in two programs; h.0 to h.5 take 84 % of their time.",
                   ("profile/program.json",), root=root)


def foresight(draw, ranks, steps, points):
    parts = [("dot", 1.9, 1.7), ("elementwise", 1.3, 1.4), ("attention", 0.83, 0.79), ("all_reduce", 0.4, 0.46),
             ("host", 0.11, 0.1)]
    scaling = [{"devices": n, "nodes": max(1, n // 8), "global_batch": 64, "step_ms": 40 / n + 0.8,
                "low_ms": 38 / n + 0.6, "high_ms": 44 / n + 1.2,
                "all_reduce_share": 0.02 * math.log2(n), "device": "a100-sxm4-80gb"} for n in (1, 2, 4, 8, 16, 32, 64)]
    return section("The model predicts 5.5 ms for a step that takes 5.7 ms; more than 16 devices gain little.",
                   ("lockstep foresee runs/gpt_char",),
                   device="this-machine", parts=[{"name": n, "measured_ms": m, "predicted_ms": p} for n, m,
                                                 p in parts], scaling=scaling)


CONFIG = """run:
  name: gpt_char
  dir: runs
model:
  name: gpt2
  n_layer: 6
  n_head: 6
  n_embd: 384
optimizer:
  name: adamw
  learning_rate: 0.001
""" + "  # more\n" * 20


def reproduce(draw, ranks, steps, points):
    facts = [("build", "0.9.0-412-g1f3a", "run.json"), ("host", "node-0 (2 × 16 cores, AVX-512)", "run.json"),
             ("seed", "1337", "config.yaml"),
             ("dataset digest", "sha256:4f0e…91", "run.json"),
             ("last checkpoint", "step-00005000.h5", "checkpoints/")]
    return section("The same build, config and seed give the same parameters, to the bit, on any number of ranks.",
                   ("config.yaml", "run.json"),
                   command=f"mpirun -n {ranks} lockstep train configs/gpt_char.yaml training.max_steps={steps}",
                   config=CONFIG,
                   facts=[{"name": n, "value": v, "source": s} for n, v, s in facts])


def long_run():
    """100,000 steps, thinned as the command does it: at most 1,600 points of a series, and 2,000 steps."""
    return full_run("long", 3, ranks=4, steps=100_000, points=1600)


@functools.cache
def eight_runs(points=1600):
    runs = [full_run(f"sweep-lr-{i}", 10 + i, ranks=2, steps=20_000, points=points) for i in range(8)]
    return report(*runs, differences=[{"key": "optimizer.learning_rate", "values": [str(0.001 / (i + 1))
        for i in range(8)]},
                                      {"key": "scheduler.warmup_steps", "values": [None, "100"] * 4}])


def poor_run():
    """Every section lacks its data and says what gives it."""
    run = {"name": "poor", "folder": "runs/poor"}
    for name in SECTIONS:
        run[name] = {"finding": "", "sources": [], "missing": f"train it with profile.ledger=true to see {name}"}
    return run


def empty_run():
    return {"name": "empty", "folder": "runs/empty", **{name: {} for name in SECTIONS}}


def hostile_run():
    """Every text of a full run is one of HOSTILE, but for those that choose how something is drawn."""
    texts = iter(HOSTILE * 1000)
    chosen = ("group", "section", "state", "kind", "event")

    def spoiled(value, key=None):
        if isinstance(value, dict):
            return {name: spoiled(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [spoiled(each, key) for each in value]
        return next(texts) if isinstance(value, str) and key not in chosen else value
    run = spoiled(copy.deepcopy(full_run(points=60, steps=300)))
    run["learning"]["events"].append({"step": 3, "kind": HOSTILE[0], "text": HOSTILE[1]})
    run["verdict"]["state"] = HOSTILE[3]
    return run
