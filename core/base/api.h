// The symbols that the shared library exports. Everything is compiled with hidden visibility; a
// public header (one that lockstep/lockstep.h includes, directly or not) opens its namespace with
// this mark:
//
//   namespace LOCKSTEP_API lockstep { ... }
//
// and everything declared in that block, functions, classes, exceptions and their run-time types,
// is exported. scripts/public_headers.py checks that only public headers have the mark.
#pragma once

/// Exports what a namespace block of a public header declares.
#define LOCKSTEP_API [[gnu::visibility("default")]]
