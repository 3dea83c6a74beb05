// As much of Markdown as it takes to find what a document promises: links, headings, and code.
#ifndef SASSAY_TESTS_DOCS_MARKDOWN_H_
#define SASSAY_TESTS_DOCS_MARKDOWN_H_

#include <set>
#include <string>
#include <vector>

namespace sassay::testing {

// A fenced or indented block. Plain data.
struct CodeBlock {
  int line = 0;          // of its first line, counted from 1
  std::string language;  // after the fence; empty of an indented block
  // The comments right before it, blank lines between them left out: "run" of "<!-- run -->".
  std::vector<std::string> marks;
  std::vector<std::string> lines;  // without the indentation
};

// One document, taken apart. Plain data.
struct Document {
  // Targets of links and pictures, as written: "models.md", "../x.md#files", "https://…".
  std::vector<std::string> links;
  // As GitHub makes them of headings: "## Life of a turn" is "life-of-a-turn".
  std::set<std::string> anchors;
  // Between single backticks.
  std::vector<std::string> spans;
  // Lines of fenced and indented blocks; a line that ends with a backslash has swallowed the next one.
  std::vector<std::string> code_lines;
  std::vector<CodeBlock> blocks;
};

Document ParseMarkdown(const std::string& text);

}  // namespace sassay::testing

#endif  // SASSAY_TESTS_DOCS_MARKDOWN_H_
