// Why mpirun may not have reached the hosts of a job: it prints only numbers, or a list of guesses.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// A sentence for each of the hosts whose name has no address, or that does not answer within three
/// seconds: "the host 'node2' does not answer (No route to host)". A host that refuses a connection
/// to the port of ssh answers. All are asked at once.
std::vector<std::string> describe_lost_hosts(const std::vector<std::string>& hosts);

/// The same for each host, in order; "" for one that answers.
std::vector<std::string> silences_of(const std::vector<std::string>& hosts);

}  // namespace lockstep
