// Measures how fast the cores of this machine send and receive over TCP, without a network.
#pragma once

namespace lockstep {

/// Two threads that are connected over the loopback interface each send for about `seconds` and
/// receive as much. Returns the bytes a second that each of them sent; 0 if there is no such
/// interface.
double measure_sockets(double seconds);

}  // namespace lockstep
