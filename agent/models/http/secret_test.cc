#include "agent/models/http/secret.h"

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

namespace sassay::agent {
namespace {

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(Printable<std::string>);
static_assert(!Printable<Secret>);
static_assert(!std::is_copy_constructible_v<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);

TEST(SecretTest, TakesTheTextItIsMadeOf) {
  std::string text = "sk-a-long-enough-key-to-live-on-the-heap";
  const Secret secret(std::move(text));
  EXPECT_TRUE(text.empty());  // NOLINT: that it is empty is the claim
  EXPECT_EQ(secret.Reveal(), "sk-a-long-enough-key-to-live-on-the-heap");
}

TEST(SecretTest, RedactsEveryOccurrence) {
  const Secret secret("sk-12345");
  EXPECT_EQ(secret.Redact("bad key sk-12345, I said sk-12345."), "bad key (key), I said (key).");
  EXPECT_EQ(secret.Redact("nothing"), "nothing");
}

TEST(SecretTest, RedactsWhatACutLeftOfIt) {
  const Secret secret("sk-abcdef");
  EXPECT_EQ(secret.Redact("bad key sk-abcd…: it is at http://h/?k=sk-a… now"),
            "bad key (key)…: it is at http://h/?k=(key)… now");
  EXPECT_EQ(secret.Redact("ask-…, sk-abcd and so on"), "ask-…, sk-abcd and so on") << "nothing was cut there";
}

TEST(SecretTest, AWordInThePlaceOfAKeyIsNoSecret) {
  EXPECT_EQ(Secret("EMPTY").Redact("mbarrier_wait(EMPTY);"), "mbarrier_wait(EMPTY);");
}

TEST(SecretTest, NoSecretRedactsNothing) { EXPECT_EQ(Secret().Redact("abc"), "abc"); }

TEST(SecretTest, AMovedSecretLeavesNothingBehind) {
  Secret one("sk-1");
  const Secret other(std::move(one));
  EXPECT_TRUE(one.empty());  // NOLINT
  EXPECT_EQ(other.Reveal(), "sk-1");
}

TEST(SecretTest, WipedTextHoldsNoTraceInItsMemory) {
  std::string text(64, 's');
  const char* memory = text.data();
  WipeText(text);
  EXPECT_TRUE(text.empty());
  for (int i = 1; i < 64; ++i) EXPECT_EQ(memory[i], '\0');
}

}  // namespace
}  // namespace sassay::agent
