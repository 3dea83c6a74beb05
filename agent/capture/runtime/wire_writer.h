// Writes protobuf wire format with nothing but std::string, or, for signal handlers, without a heap.
//
// The recording runtime lives in the candidate's process, where libprotobuf must not be: its exported symbols would
// meet the candidate's. Writing is the easy half of protobuf; the reading side is generated from record.proto.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_WIRE_WRITER_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_WIRE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sassay::capture {

// A string on the stack. What does not fit is dropped, so that writers must know their sizes.
class FixedBytes {
 public:
  void push_back(char byte) {
    if (size_ < sizeof data_) data_[size_++] = byte;
  }
  void append(const char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) push_back(bytes[i]);
  }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char data_[768];
  size_t size_ = 0;
};

// Appends fields of one message; embed a message by writing its bytes() as a field. Thread-compatible.
template <typename Storage>
class BasicWireWriter {
 public:
  // Field types uint32, uint64, bool, enum. Zero is proto3's default and is left out.
  void Varint(int field, uint64_t value) {
    if (value != 0) AppendTagged(field, 0, value);
  }
  // A repeated varint keeps its zeros.
  void RepeatedVarint(int field, uint64_t value) { AppendTagged(field, 0, value); }
  // sint32 and sint64.
  void Signed(int field, int64_t value) {
    Varint(field, (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void Fixed64(int field, uint64_t value) {
    AppendVarint(static_cast<uint64_t>(field) << 3 | 1);
    char bytes[8];
    std::memcpy(bytes, &value, sizeof bytes);  // every target is little-endian
    bytes_.append(bytes, sizeof bytes);
  }
  // string, bytes, embedded messages. Present even when empty.
  void Bytes(int field, const void* data, size_t size) {
    AppendVarint(static_cast<uint64_t>(field) << 3 | 2);
    AppendVarint(size);
    bytes_.append(static_cast<const char*>(data), size);
  }
  void Bytes(int field, std::string_view text) { Bytes(field, text.data(), text.size()); }
  void Message(int field, const BasicWireWriter& message) {
    Bytes(field, message.bytes_.data(), message.bytes_.size());
  }

  const Storage& bytes() const { return bytes_; }

 private:
  void AppendTagged(int field, int type, uint64_t value) {
    AppendVarint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type));
    AppendVarint(value);
  }
  void AppendVarint(uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  Storage bytes_;
};

using WireWriter = BasicWireWriter<std::string>;
// For signal handlers: malloc's locks may be held by the thread that the signal interrupted.
using SignalSafeWriter = BasicWireWriter<FixedBytes>;

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_WIRE_WRITER_H_
