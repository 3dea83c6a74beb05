// Memory that several blocks may touch at once, each on a host thread of its own. A race between them is the
// candidate's, and must be no undefined behaviour of ours: relaxed atomics are plain moves on the hosts that we build
// for. Addresses are aligned to the size of the access, as PTX asks and access.cc checks.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_RACING_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_RACING_H_

#include <cstdint>
#include <cstring>

namespace sassay::emulator {

template <class T>
T ReadRacing(const void* at) {
  return __atomic_load_n(static_cast<const T*>(at), __ATOMIC_RELAXED);
}

template <class T>
void WriteRacing(void* at, T value) {
  __atomic_store_n(static_cast<T*>(at), value, __ATOMIC_RELAXED);
}

// Zero-extended; `bytes` is 1, 2, 4 or 8.
inline uint64_t ReadRacing(const uint8_t* at, uint32_t bytes) {
  switch (bytes) {
    case 1:
      return ReadRacing<uint8_t>(at);
    case 2:
      return ReadRacing<uint16_t>(at);
    case 4:
      return ReadRacing<uint32_t>(at);
    default:
      return ReadRacing<uint64_t>(at);
  }
}

inline void WriteRacing(uint8_t* at, uint64_t value, uint32_t bytes) {
  switch (bytes) {
    case 1:
      return WriteRacing(at, static_cast<uint8_t>(value));
    case 2:
      return WriteRacing(at, static_cast<uint16_t>(value));
    case 4:
      return WriteRacing(at, static_cast<uint32_t>(value));
    default:
      return WriteRacing(at, value);
  }
}

// Calls visit(offset, size) for the pieces of an access of `bytes`: words where it is made of words, else bytes.
template <class Visit>
void ForPieces(uint32_t bytes, const Visit& visit) {
  const uint32_t piece = bytes % 4 == 0 ? 4 : 1;
  for (uint32_t at = 0; at < bytes; at += piece) visit(at, piece);
}

// Copies out of such memory; `to` is the caller's own.
inline void CopyFromRacing(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  ForPieces(bytes, [&](uint32_t at, uint32_t piece) {
    const uint64_t value = ReadRacing(from + at, piece);
    std::memcpy(to + at, &value, piece);
  });
}

inline void CopyToRacing(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  ForPieces(bytes, [&](uint32_t at, uint32_t piece) {
    uint64_t value = 0;
    std::memcpy(&value, from + at, piece);
    WriteRacing(to + at, value, piece);
  });
}

inline bool DiffersRacing(const uint8_t* memory, const uint8_t* own, uint32_t bytes) {
  bool differs = false;
  ForPieces(bytes, [&](uint32_t at, uint32_t piece) {
    uint64_t value = 0;
    std::memcpy(&value, own + at, piece);
    differs |= ReadRacing(memory + at, piece) != value;
  });
  return differs;
}

// Of flags, one byte each: whether any is set, and all at once.
inline bool AnyRacing(const uint8_t* flags, uint32_t count) {
  uint64_t any = 0;
  ForPieces(count, [&](uint32_t at, uint32_t piece) { any |= ReadRacing(flags + at, piece); });
  return any != 0;
}

inline bool AllRacing(const uint8_t* flags, uint32_t count) {
  bool all = true;
  for (uint32_t at = 0; at < count; ++at) all &= ReadRacing<uint8_t>(flags + at) != 0;
  return all;
}

inline void SetRacing(uint8_t* flags, bool value, uint32_t count) {
  ForPieces(count, [&](uint32_t at, uint32_t piece) { WriteRacing(flags + at, value ? 0x01010101u : 0u, piece); });
}

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_RACING_H_
