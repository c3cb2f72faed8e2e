// The executable `lockstep`.
#include "trainer/cli/command_line.h"

int main(int argc, char** argv) {
  return lockstep::command_line(argc, argv, lockstep::built_in());
}
