# cmake -DOUT=x.cc -DFILES="a.json;b.json" -P embed_definitions.cmake: turns JSON files into builtin_definitions.cc.
set(texts "")
foreach(file ${FILES})
  file(READ ${file} text)
  string(APPEND texts "    R\"definition(${text})definition\",\n")
endforeach()
file(WRITE ${OUT} "#include \"common/workload/builtin_definitions.h\"

namespace sassay {
namespace {
constexpr absl::string_view kDefinitions[] = {
${texts}};
}  // namespace

absl::Span<const absl::string_view> BuiltInDefinitionJson() { return kDefinitions; }
}  // namespace sassay
")
