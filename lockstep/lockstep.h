// The library in one header: what a program with a model, a dataset or an op of its own includes.
// Every header that this one includes, directly or not, is public and is installed with it; the
// others are not. docs/contributing/build.md tells how a header becomes public.
#pragma once

#include "core/base/rng.h"
#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "core/nn/pooling.h"
#include "core/nn/positions.h"
#include "core/nn/transformer.h"
#include "core/trace/cut_trace.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "core/trace/losses.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"
#include "data/samples/tensor_dataset.h"
#include "trainer/cli/command_line.h"
#include "trainer/optimizers/adam.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/lamb.h"
#include "trainer/optimizers/lion.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/train/session.h"
#include "trainer/train/trainer.h"
