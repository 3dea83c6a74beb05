// Instructions one after the other, drawn from the table of forms.
#include <algorithm>
#include <sstream>

#include "profiler_service/emulator/differential/draft.h"
#include "profiler_service/emulator/forms/forms.h"

namespace sassay::emulator {
namespace {

struct Chosen {
  const Family* family;
  const Form* form;
};

std::vector<Chosen> FormsOf(const std::vector<std::string>& titles) {
  std::vector<Chosen> forms;
  for (const Family& family : Families()) {
    if (family.kind == FamilyKind::kOther || std::find(titles.begin(), titles.end(), family.title) == titles.end())
      continue;
    for (const Form& form : family.forms) forms.push_back({&family, &form});
  }
  return forms;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ';');) parts.push_back(part.substr(part.find_first_not_of(' ')));
  return parts;
}

std::string Immediate(std::string_view word, Random& random) {
  const size_t dots = word.find("..");
  const uint64_t low = std::stoull(std::string(word.substr(1, dots - 1)));
  const uint64_t high = std::stoull(std::string(word.substr(dots + 2)));
  return std::to_string(low + random.Below(high - low + 1));
}

struct Written {
  std::string flavour, name;
};

void AddForm(Draft& draft, const Chosen& chosen) {
  Random& random = draft.random();
  const auto opcodes = Split(Pick(chosen.form->pattern, [&](size_t count) { return random.Below(count); }));
  const auto operands = Split(chosen.form->operands);
  std::vector<std::pair<Written, std::string>> results;
  // Carries go from one instruction to the next: nothing may come between, so sources are found first.
  std::string lines;
  for (size_t i = 0; i < opcodes.size(); ++i) {
    std::vector<Written> written;
    // ptxas makes a copy of the least of a register and itself, and hands a NaN on as it is.
    const bool differ = opcodes[i].rfind("min", 0) == 0 || opcodes[i].rfind("max", 0) == 0;
    std::string last;
    const std::string filled = FillOperands(operands[i], [&](std::string_view word) {
      if (word[0] == '#') return Immediate(word, random);
      if (word[0] != '=') {
        std::string source = draft.Source(word);
        if (differ && source == last) source = draft.Input(word);
        return last = std::move(source);
      }
      written.push_back({std::string(word.substr(1)), draft.Register(word.substr(1))});
      return written.back().name;
    });
    const std::string text = opcodes[i] + " " + filled + ";";
    const bool guard = opcodes.size() == 1 && chosen.family->kind == FamilyKind::kLanes && random.OneIn(12) &&
                       std::none_of(written.begin(), written.end(), [](const Written& w) { return w.flavour == "p"; });
    if (guard) {
      const std::string condition = draft.Source("p");
      // Not from a constant, which ptxas 13.0 takes for a float's value behind set.f32 and its like.
      for (const Written& w : written) {
        const std::string before = draft.Input(w.flavour);
        draft.Add("mov.b" + std::to_string(8 * BytesOf(w.flavour)) + " " + w.name + ", " + before + ";");
      }
      lines += (random.OneIn(2) ? "@" : "@!") + condition + " ";
    }
    lines += text + "\n";
    for (Written& w : written) results.emplace_back(std::move(w), text);
  }
  draft.Add(lines);
  const bool approximate = chosen.form->relative != 0 || chosen.form->absolute != 0;
  // Numbers out of f64: no NaN is followed further.
  const bool narrowed = std::string_view(chosen.form->operands).find(", f64") != std::string_view::npos;
  for (const auto& [written, text] : results) {
    const bool number = written.flavour[0] != 'i' && written.flavour != "p" && written.flavour != "f64";
    Slot& slot = draft.Keep(written.flavour, written.name, text, !approximate && !(narrowed && number));
    slot.relative = chosen.form->relative;
    slot.absolute = chosen.form->absolute;
    slot.any_nan |= narrowed && number;
  }
}

}  // namespace

Case DrawStraight(uint64_t seed, const std::string& kind, const std::vector<std::string>& families) {
  Draft draft(seed, kind, 32);
  const auto forms = FormsOf(families);
  const size_t count = 12 + draft.random().Below(12);
  for (size_t i = 0; i < count; ++i) AddForm(draft, forms[draft.random().Below(forms.size())]);
  return std::move(draft).Finish();
}

}  // namespace sassay::emulator
