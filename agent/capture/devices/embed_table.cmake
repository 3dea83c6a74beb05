# device_table.json as a string literal.
file(READ ${INPUT} json)
file(WRITE ${OUTPUT} "constexpr char kBuiltInTable[] = R\"json(${json})json\";\n")
