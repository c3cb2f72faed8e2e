// The library in one header: a program with its own model, dataset or op includes it. Every header
// that this one includes, directly or not, is public and is installed with it; the others are not.
// ARCHITECTURE.md describes how to make a header public.
#pragma once

#include "core/base/rng.h"
#include "core/nn/layers.h"
#include "core/nn/norm.h"
#include "core/nn/pooling.h"
#include "core/nn/positions.h"
#include "core/nn/transformer.h"
#include "core/trace/functions.h"
#include "core/trace/gradients.h"
#include "core/trace/host_call.h"
#include "core/trace/mode.h"
#include "core/trace/remat.h"
#include "data/tensor_dataset.h"
#include "trainer/optimizers/adamw.h"
#include "trainer/optimizers/sgd.h"
#include "trainer/registry/command_line.h"
#include "trainer/session.h"
#include "trainer/trainer.h"
