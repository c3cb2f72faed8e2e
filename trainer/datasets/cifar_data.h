// CIFAR's binary files (data/images/cifar.h).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "data/images/cifar.h"
#include "trainer/datasets/image_settings.h"
#include "trainer/settings/config.h"
#include "trainer/settings/key.h"
#include "trainer/settings/report_problem.h"
#include "trainer/task/data_source.h"

namespace lockstep {

template <>
struct EnumNames<CifarKind> {
  static constexpr std::array<std::string_view, 2> kNames{"cifar10", "cifar100"};
};

struct CifarData {
  static constexpr std::string_view kName = "cifar";
  static constexpr std::string_view kDoc = "CIFAR-10 and CIFAR-100, binary";
  static constexpr std::string_view kGives = "images";

  std::vector<std::string> path = {};  ///< files read one after the other
  std::vector<std::string> val_path = {};
  CifarKind format = CifarKind::kCifar10;
  ImageSettings images = {};

  static std::vector<Key> keys();
  void check(const Config& run, const ReportProblem& report) const;
  const ImageSettings& part() const { return images; }
  DataSource open(const OpenContext& context) const;
};

}  // namespace lockstep
