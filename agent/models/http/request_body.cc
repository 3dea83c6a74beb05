#include "agent/models/http/request_body.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

constexpr size_t kMaxEscapedBytes = 6;

// The JSON spelling of the character that `text` begins with, written to `out`; `used` is its length in `text`.
size_t Escape(absl::string_view text, size_t& used, char* out) {
  const char c = text[0];
  used = std::max<size_t>(Utf8Length(text), 1);
  if (c == '"' || c == '\\') {
    out[0] = '\\';
    out[1] = c;
    return 2;
  }
  if (c == '\n') return static_cast<size_t>(snprintf(out, kMaxEscapedBytes + 1, "\\n"));
  if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    return static_cast<size_t>(snprintf(out, kMaxEscapedBytes + 1, "\\u%04x", static_cast<unsigned>(c)));
  }
  if (Utf8Length(text) == 0) {
    out[0] = '?';
    return 1;
  }
  memcpy(out, text.data(), used);
  return used;
}

uint64_t EscapedBytes(absl::string_view text) {
  char ignored[kMaxEscapedBytes + 1];
  uint64_t bytes = 2;
  for (size_t at = 0, used = 0; at < text.size(); at += used) bytes += Escape(text.substr(at), used, ignored);
  return bytes;
}

}  // namespace

void RequestBody::Append(absl::string_view json) {
  if (pieces_.empty() || !pieces_.back().is_json) {
    pieces_.push_back({std::make_shared<std::string>(json), true});
  } else {
    pieces_.back().text = std::make_shared<std::string>(*pieces_.back().text + std::string(json));
  }
  bytes_ += json.size();
}

void RequestBody::AppendString(std::shared_ptr<const std::string> text) {
  bytes_ += EscapedBytes(*text);
  pieces_.push_back({std::move(text), false});
}

void RequestBody::AppendString(absl::string_view text) { AppendString(std::make_shared<std::string>(text)); }

std::string RequestBody::ToString() const {
  std::string text(bytes_, '\0');
  Reader reader(*this);
  size_t done = 0;
  while (const size_t got = reader.Read(text.data() + done, text.size() - done)) done += got;
  return text;
}

size_t RequestBody::Reader::Read(char* out, size_t size) {
  size_t written = 0;
  const auto put = [&](absl::string_view bytes) {
    const size_t fits = std::min(bytes.size(), size - written);
    memcpy(out + written, bytes.data(), fits);
    written += fits;
    return fits;
  };
  while (written < size) {
    if (!rest_.empty()) {
      rest_.erase(0, put(rest_));
      continue;
    }
    if (piece_ == body_->pieces_.size()) break;
    const Piece& piece = body_->pieces_[piece_];
    const absl::string_view text = *piece.text;
    if (piece.is_json) {
      at_ += put(text.substr(at_));
      if (at_ < text.size()) break;
    } else {
      // A quote, the characters, a quote: `at_` counts the first one.
      char escaped[kMaxEscapedBytes + 1] = "\"";
      size_t used = 1, length = 1;
      if (at_ > 0 && at_ <= text.size()) length = Escape(text.substr(at_ - 1), used, escaped);
      const size_t fits = put({escaped, length});
      rest_.assign(escaped + fits, length - fits);
      at_ += used;
      if (at_ < text.size() + 2) continue;
    }
    ++piece_;
    at_ = 0;
  }
  return written;
}

}  // namespace sassay::agent
