#include "agent/batch/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/string_view.h"

namespace sassay::agent {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  void Write(absl::string_view text) { EXPECT_EQ(write(writer.get(), text.data(), text.size()), ssize_t(text.size())); }
  UniqueFd reader, writer;
};

TEST(LineReaderTest, LinesComeOneByOneAndTheLastNeedNotEnd) {
  Pipe pipe;
  pipe.Write("a\n\nlong");
  LineReader reader(pipe.reader.get());
  EXPECT_EQ(**reader.Next(), "a");
  EXPECT_EQ(**reader.Next(), "");
  pipe.Write("er\nlast");
  EXPECT_EQ(**reader.Next(), "longer");
  pipe.writer.reset();
  EXPECT_EQ(**reader.Next(), "last");
  EXPECT_EQ(reader.line(), 4u);
  EXPECT_FALSE(reader.Next()->has_value());
  EXPECT_FALSE(reader.Next()->has_value());
}

TEST(LineReaderTest, ALineThatIsTooLongIsPassedOver) {
  Pipe pipe;
  pipe.Write(std::string(5000, 'x') + "\nb\n");
  pipe.writer.reset();
  LineReader reader(pipe.reader.get(), 1000);
  EXPECT_TRUE(absl::IsOutOfRange(reader.Next().status()));
  EXPECT_EQ(**reader.Next(), "b");
  Pipe slow;
  LineReader other(slow.reader.get(), 1000);
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i) slow.Write(std::string(4096, 'x'));
    slow.Write("\nb\n");
    slow.writer.reset();
  });
  EXPECT_TRUE(absl::IsOutOfRange(other.Next().status()));
  EXPECT_EQ(**other.Next(), "b");
  EXPECT_EQ(other.line(), 2u);
  EXPECT_FALSE(other.Next()->has_value());
  writer.join();
}

TEST(LineReaderTest, StopEndsAWait) {
  Pipe pipe;
  LineReader reader(pipe.reader.get());
  std::thread stopper([&] { reader.Stop(); });
  EXPECT_FALSE(reader.Next()->has_value());
  stopper.join();
}

}  // namespace
}  // namespace sassay::agent
