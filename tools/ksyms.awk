# Makes the C table of kernel/symbols.h from the output of `nm -n`; from no input, an empty table.
BEGIN {
	n = 0
	print "#include \"kernel/symbols.h\""
	print "#define KSYMS __attribute__((section(\".ksyms\")))"
}

$3 == "__text_start" { base = $1 }
$3 == "__text_end" { base = "" }

# Assembly's local labels (function.label) are no functions; the parts that gcc splits off are.
$3 ~ /\./ && $3 !~ /\.(part|constprop|isra|cold|[0-9])/ { next }

base != "" && $2 ~ /^[tT]$/ && $1 != last {
	offsets[n] = "0x" $1 "UL - 0x" base "UL"
	names[n] = $3
	n++
	last = $1
}

END {
	print "KSYMS const struct ksym ksyms[] = {"
	at = 0
	for (i = 0; i < n; i++) {
		print "\t{ (u32)(" offsets[i] "), " at " },"
		at += length(names[i]) + 1
	}
	if (n == 0)
		print "\t{ 0, 0 },"
	print "};"
	print "KSYMS const u32 nr_ksyms = " n ";"
	print "KSYMS const char ksym_names[] ="
	for (i = 0; i < n; i++)
		print "\t\"" names[i] "\\0\""
	print "\t\"\";"
}
