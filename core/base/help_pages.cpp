#include "core/base/help_pages.h"

#include <array>

namespace lockstep {
namespace {

using Kind = ErrorKind;

constexpr std::array kHelpPages{
    HelpPage{{}, "the ranks were given different", "docs/guides/determinism.md#ranks-agree"},
    HelpPage{Kind::kUsage, "--given ", "docs/guides/foresight.md"},
    HelpPage{Kind::kUsage, "unknown key '", "docs/reference/config.md"},
    HelpPage{Kind::kUsage, "missing required key 'tokenizer.", "docs/guides/tokenizers.md"},
    HelpPage{Kind::kUsage, "the tokenizer has no token", "docs/guides/tokenizers.md"},
    HelpPage{Kind::kUsage, "no tokenizer.json", "docs/guides/tokenizers.md"},
    HelpPage{Kind::kUsage, "device.max_programs", "docs/guides/recompilations.md#what-goes-wrong"},
    HelpPage{Kind::kUsage, "another training", "docs/guides/runs.md#a-runs-folder"},
    HelpPage{Kind::kUsage, "no best checkpoint", "docs/guides/checkpoints.md#what-is-kept"},
    HelpPage{Kind::kUsage, "folders of classes", "docs/guides/images.md#what-goes-wrong"},
    HelpPage{Kind::kData, "is not UTF-8", "docs/guides/text.md#what-goes-wrong"},
    HelpPage{Kind::kData, "tokenizer", "docs/guides/tokenizers.md"},
    HelpPage{Kind::kData, "not in the vocabulary", "docs/guides/text.md#what-goes-wrong"},
    HelpPage{Kind::kData, "caption", "docs/guides/captions.md#what-goes-wrong"},
    HelpPage{Kind::kData, "IDX", "docs/guides/images.md#which-kind-of-data"},
    HelpPage{Kind::kData, "cannot be loaded", "docs/guides/images.md#what-goes-wrong"},
    HelpPage{Kind::kData, "image", "docs/guides/images.md#what-goes-wrong"},
    HelpPage{Kind::kData, "class", "docs/guides/images.md#what-goes-wrong"},
    HelpPage{Kind::kData, "", "docs/guides/text.md#what-goes-wrong"},
    HelpPage{Kind::kCheckpoint, "", "docs/guides/checkpoints.md#what-goes-wrong"},
    HelpPage{Kind::kNonFinite, "", "docs/guides/optimizers.md#what-goes-wrong"},
    HelpPage{Kind::kOutOfMemory, "", "docs/guides/memory.md#what-goes-wrong"},
    HelpPage{Kind::kPeer, "network", "docs/guides/clusters.md#networks"},
    HelpPage{Kind::kPeer, "", "docs/guides/reliability.md#ranks-that-are-stuck"},
    HelpPage{Kind::kPreempted, "", "docs/guides/checkpoints.md#stop-and-go-on"},
};

}  // namespace

std::span<const HelpPage> help_pages() {
  return kHelpPages;
}

std::string_view help_page(ErrorKind kind, std::string_view message) {
  for (const HelpPage& row : kHelpPages)
    if ((!row.kind || row.kind == kind) && message.find(row.phrase) != message.npos)
      return row.page;
  return {};
}

std::string see_help_page(ErrorKind kind, std::string_view message) {
  const std::string_view page = help_page(kind, message);
  return page.empty() ? "" : fmt::format("\nsee {}", page);
}

}  // namespace lockstep
