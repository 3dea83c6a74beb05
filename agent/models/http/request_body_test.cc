#include "agent/models/http/request_body.h"

#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using Json = nlohmann::json;

std::string ReadInPieces(const RequestBody& body, size_t piece) {
  RequestBody::Reader reader(body);
  std::string text, buffer(piece, '\0');
  while (const size_t got = reader.Read(buffer.data(), piece)) text.append(buffer, 0, got);
  return text;
}

RequestBody Example(const std::string& text) {
  RequestBody body;
  body.Append("{\"a\":");
  body.Append("[1,");
  body.AppendString(std::make_shared<std::string>(text));
  body.Append(",");
  body.AppendString("");
  body.Append("]}");
  return body;
}

TEST(RequestBodyTest, IsTheSameHoweverItIsRead) {
  const std::string text = "q\" b\\ n\n t\t z\x01 d\x7f \xC3\xA9 \xF0\x9F\x9A\x80 end";
  const RequestBody body = Example(text);
  const Json expected = {{"a", {1, text, ""}}};
  for (size_t piece = 1; piece < 80; ++piece) {
    const std::string read = ReadInPieces(body, piece);
    EXPECT_EQ(Json::parse(read, nullptr, false), expected) << piece;
    EXPECT_EQ(read.size(), body.bytes()) << piece;
  }
  EXPECT_EQ(body.ToString(), ReadInPieces(body, 7));
}

TEST(RequestBodyTest, WhatIsNoUtf8BecomesAQuestionMark) {
  const RequestBody body = Example("a\xFF\xC3z\xE2\x82");
  EXPECT_EQ(Json::parse(body.ToString())["a"][1], "a??z??");
}

TEST(RequestBodyTest, TextIsSharedNotCopied) {
  const auto text = std::make_shared<std::string>(1000, 'x');
  RequestBody body;
  body.AppendString(text);
  EXPECT_EQ(text.use_count(), 2);
}

TEST(RequestBodyTest, AReaderBeginsAnew) {
  const RequestBody body = Example("text");
  RequestBody::Reader reader(body);
  char some[9];
  reader.Read(some, sizeof some);
  reader.Rewind();
  std::string all(body.bytes() + 10, '\0');
  all.resize(reader.Read(all.data(), all.size()));
  EXPECT_EQ(all, body.ToString());
}

}  // namespace
}  // namespace sassay::agent
