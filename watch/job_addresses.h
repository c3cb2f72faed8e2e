// The addresses of this host at which the other hosts of a job reach it. A hub listens at no
// others.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace lockstep {

/// "10.0.0.1", "fd00::7": never loopback, unless `interfaces` names it.
///
/// `interfaces`, if not empty, decides, as OpenMPI's btl_tcp_if_include: names ("eth0") or networks
/// ("10.0.0.0/8", "fd00::/8"), separated by commas. Else it is the addresses from which this host
/// sends to `hosts`, names or addresses; and if one of them cannot be found, all that there are.
std::vector<std::string> job_addresses(const std::string& interfaces,
                                       const std::vector<std::string>& hosts);

/// All addresses of a name, such as "10.0.0.2" or "fd00::2"; none if it is not known.
std::set<std::string> addresses_of(const std::string& host);

/// Whether each of these names or addresses is this host.
bool are_this_host(const std::vector<std::string>& hosts);

}  // namespace lockstep
