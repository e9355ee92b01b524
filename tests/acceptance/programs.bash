# shellcheck shell=bash
# What each language's programs of the acceptance suite are: program WHAT prints one, or a word about it.
language=${language:?}

# what is the same in each
program() {
	case $1 in
	files) echo "plain " ;;
	patience) case $language in java | go) echo 45 ;; *) echo 3 ;; esac ;;
	version) case $language in javascript) echo 1.1.3 ;; bash) echo "tree v2" ;; go) echo v1.0.0 ;; java) echo 1.0 ;; *) echo 1.0.0 ;; esac ;;
	*) "program_$language" "$1" ;;
	esac
}
# started by the others where a language would need a page for it: prints what a shell prints
# shellcheck disable=SC2034 # named by programs
left="pgrep -fc '^sleep 432[1]' || true"
# shellcheck disable=SC2034
sealed='printf "%s " $(ls /sys/class/net); (echo >/dev/tcp/1.1.1.1/443) 2>/dev/null && echo reached || echo refused'
# shellcheck disable=SC2034
hostile='mkdir -p odd && cd odd && ln -s /etc/passwd link && ln -s / root && mkfifo fifo && ln /proc/version hard; echo plain >plain'

program_python() {
	case $1 in
	package) echo 'asb-greeting==1.0.0 asb-greeting@http://127.0.0.1:1/a.whl' ;;
	hello) echo 'print("hello")' ;;
	version_of) echo 'import sys; print(sys.version)' ;;
	promised) echo '^3\.(1[2-9]|[2-9][0-9])\.' ;;
	keep) echo 'x = 41; open("kept", "w").write("from before")' ;;
	kept) echo 'print(open("kept").read() + (", and nothing else" if "x" not in globals() else " and x"))' ;;
	used) echo 'import asb_greeting; print(asb_greeting.VERSION)' ;;
	broken) echo 'print(nothing_of_that_name)' ;;
	error) echo "NameError: name 'nothing_of_that_name' is not defined" ;;
	endless) printf 'import subprocess, time\nsubprocess.Popen(["setsid", "sleep", "4321"])\nprint("started", flush=True)\ntime.sleep(500)' ;;
	left | sealed | hostile) printf 'import subprocess\nprint(subprocess.run(["bash", "-c", """%s"""], capture_output=True, text=True).stdout.strip())' "${!1}" ;;
	half) echo 'b = bytearray(256 << 20); print("allocated")' ;;
	memory) printf 'b = bytearray(1536 << 20)\nfor i in range(0, len(b), 4096):\n\tb[i] = 1\nprint("allocated")' ;;
	bomb) printf 'import os\nwhile True:\n\ttry:\n\t\tos.fork()\n\texcept OSError:\n\t\tpass' ;;
	lock) echo requirements.txt ;;
	tests) echo 'import pytest; raise SystemExit(pytest.main(["-p", "no:cacheprovider"]))' ;;
	told) echo 'pytest passed 2 failed 1 skipped 1 test_greeting.py::test_wrong' ;;
	esac
}

program_javascript() {
	case $1 in
	package) echo 'left-pad@1.1.3 left-pad@http://127.0.0.1:1/a.tgz' ;;
	hello) echo 'console.log("hello")' ;;
	version_of) echo 'console.log(process.version)' ;;
	promised) echo '^v22\.' ;;
	keep) echo 'globalThis.x = 41; require("fs").writeFileSync("kept", "from before")' ;;
	kept) echo 'console.log(require("fs").readFileSync("kept", "utf8") + (typeof x === "undefined" ? ", and nothing else" : " and x"))' ;;
	used) echo 'console.log(require("left-pad/package.json").version)' ;;
	broken) echo 'console.log(nothingOfThatName)' ;;
	error) echo 'ReferenceError: nothingOfThatName is not defined' ;;
	endless) echo 'require("child_process").spawn("setsid", ["sleep", "4321"]); console.log("started"); setInterval(() => {}, 1000)' ;;
	left | sealed | hostile) printf 'console.log(require("child_process").execFileSync("bash", ["-c", %s], {encoding: "utf8"}).trim())' "$(json_text "${!1}")" ;;
	half) echo 'const b = Buffer.alloc(256 << 20, 1); console.log("allocated")' ;;
	memory) echo 'const b = []; for (let i = 0; i < 24; i++) b.push(Buffer.alloc(64 << 20, 1)); console.log("allocated")' ;;
	bomb) echo 'const { spawn } = require("child_process"); const f = () => { try { spawn(process.execPath, [__filename]).on("error", () => {}) } catch {} setTimeout(f, 50) }; f(); f()' ;;
	lock) echo package-lock.json ;;
	tests) echo 'require("child_process").spawnSync(process.execPath, ["--test", "--test-reporter=tap"], {stdio: "inherit"})' ;;
	told) echo 'node:test passed 2 failed 1 skipped 1 is wrong' ;;
	esac
}

program_bash() {
	case $1 in
	package) echo 'tree tree=http://127.0.0.1:1/' ;;
	hello) echo 'echo hello' ;;
	version_of) echo 'echo "$BASH_VERSION"' ;;
	promised) echo '^5\.' ;;
	keep) echo 'x=41; printf "from before" >kept' ;;
	kept) echo 'echo "$(cat kept)${x- and nothing else}" | sed "s/before and/before, and/"' ;;
	used) echo 'tree --version | cut -c 1-7' ;;
	broken) echo 'nothing_of_that_name' ;;
	error) echo 'nothing_of_that_name: command not found' ;;
	endless) echo 'setsid sleep 4321 & echo started; sleep 500' ;;
	left | sealed | hostile) echo "${!1}" ;;
	half) echo 'x=$(head -c 67108864 /dev/zero | tr "\0" a); [ "${#x}" = 67108864 ] && echo allocated' ;;
	memory) echo 'head -c 1610612736 /dev/zero | tail -c 1610612736 >/dev/null && echo allocated' ;;
	bomb) echo 'b() { b | b & }; b; wait; sleep 60' ;;
	esac
}

# of Go code: the body of main, and what it imports
go_main() { printf 'package main\n\nimport (\n%s)\n\nfunc main() {\n%s\n}\n' "$(printf '\t"%s"\n' $1)"$'\n' "$2"; }
program_go() {
	case $1 in
	package) echo 'example.test/greeting@v1.0.0 example.test/greeting@http://127.0.0.1:1/' ;;
	hello) go_main fmt 'fmt.Println("hello")' ;;
	version_of) go_main "fmt runtime" 'fmt.Println(runtime.Version())' ;;
	promised) echo '^go1\.(2[3-9]|[3-9][0-9])' ;;
	keep) go_main os 'os.Setenv("x", "41"); os.WriteFile("kept", []byte("from before"), 0o644)' ;;
	kept) go_main "fmt os" 'b, _ := os.ReadFile("kept"); if os.Getenv("x") == "" { fmt.Println(string(b) + ", and nothing else") }' ;;
	used) go_main "fmt example.test/greeting" 'fmt.Println(greeting.Version)' ;;
	broken) go_main fmt 'fmt.Println(nothingOfThatName)' ;;
	error) echo 'undefined: nothingOfThatName' ;;
	endless) go_main "fmt os/exec time" 'exec.Command("setsid", "sleep", "4321").Start(); fmt.Println("started"); time.Sleep(500 * time.Second)' ;;
	left | sealed | hostile) go_main "fmt os/exec" "b, _ := exec.Command(\"bash\", \"-c\", \`${!1}\`).Output(); fmt.Print(string(b))" ;;
	half) go_main fmt 'b := make([]byte, 256<<20); for i := 0; i < len(b); i += 4096 { b[i] = 1 }; fmt.Println("allocated")' ;;
	memory) go_main fmt 'b := make([]byte, 1536<<20); for i := 0; i < len(b); i += 4096 { b[i] = 1 }; fmt.Println("allocated")' ;;
	bomb) go_main os/exec 'for { exec.Command("bash", "-c", "b() { b | b & }; b; sleep 60").Start() }' ;;
	lock) echo go.sum ;;
	tests) go_main "os os/exec" 'c := exec.Command("go", "test", "-json", "./..."); c.Stdout = os.Stdout; c.Stderr = os.Stderr; c.Run()' ;;
	told) echo 'go passed 2 failed 1 skipped 1 TestWrong' ;;
	esac
}

java_main() { printf 'import java.nio.file.*;\nclass Main {\n\tpublic static void main(String[] a) throws Exception {\n%s\n\t}\n}\n' "$1"; }
program_java() {
	case $1 in
	package) echo 'test.example:greeting:1.0 test.example:greeting:http://127.0.0.1:1' ;;
	hello) java_main 'System.out.println("hello");' ;;
	version_of) java_main 'System.out.println(System.getProperty("java.version"));' ;;
	promised) echo '^21\.' ;;
	keep) java_main 'System.setProperty("x", "41"); Files.writeString(Path.of("kept"), "from before");' ;;
	kept) java_main 'System.out.println(Files.readString(Path.of("kept")) + (System.getProperty("x") == null ? ", and nothing else" : " and x"));' ;;
	used) java_main 'System.out.write(Main.class.getResourceAsStream("/greeting.txt").readAllBytes()); System.out.flush();' ;;
	broken) java_main 'System.out.println(nothingOfThatName);' ;;
	error) echo 'cannot find symbol' ;;
	endless) java_main 'new ProcessBuilder("setsid", "sleep", "4321").start(); System.out.println("started"); Thread.sleep(500000);' ;;
	left | sealed | hostile) java_main "System.out.write(new ProcessBuilder(\"bash\", \"-c\", $(json_text "${!1}")).start().getInputStream().readAllBytes()); System.out.flush();" ;;
	half) java_main 'byte[] b = new byte[128 << 20]; System.out.println("allocated");' ;;
	memory) java_main 'java.util.List<byte[]> l = new java.util.ArrayList<>(); for (int i = 0; i < 24; i++) l.add(new byte[64 << 20]); System.out.println("allocated");' ;;
	bomb) java_main 'for (;;) new ProcessBuilder("bash", "-c", "b() { b | b & }; b; sleep 60").start();' ;;
	lock) echo pom.xml ;;
	tests) java_main 'String v = new String(Main.class.getResourceAsStream("/greeting.txt").readAllBytes()).trim();
		System.out.println("<testsuite tests=\"3\" failures=\"1\" skipped=\"1\"><testcase name=\"older\">" + (v.equals("1.0") ? "" : "<failure/>")
			+ "</testcase><testcase name=\"wrong\"><failure message=\"no\"/></testcase><testcase name=\"later\"><skipped/></testcase></testsuite>");' ;;
	told) echo 'junit passed 1 failed 1 skipped 1 wrong' ;;
	esac
}

# project DIR: a project with a lock file and tests: two that pass, one that fails, one that is left out. False where the
# language has no such thing.
project() {
	mkdir -p "$1"
	case $language in
	python)
		printf 'asb-greeting==1.0.0\npytest==%s\n' "$(cat "$PACKAGE_INDEX/pytest.version")" >"$1/requirements.txt"
		printf 'import asb_greeting, pytest\n\ndef test_older():\n\tassert asb_greeting.VERSION == "1.0.0"\n\ndef test_word():\n\timport asb_word\n\ndef test_wrong():\n\tassert asb_greeting.VERSION == "2.0.0"\n\n@pytest.mark.skip\ndef test_later():\n\tpass\n' >"$1/test_greeting.py"
		;;
	javascript)
		printf '{"name":"p","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"p","version":"1.0.0","dependencies":{"left-pad":"1.1.3"}},"node_modules/left-pad":{"version":"1.1.3"}}}' >"$1/package-lock.json"
		printf '{"name":"p","version":"1.0.0","dependencies":{"left-pad":"1.1.3"}}' >"$1/package.json"
		printf 'const test = require("node:test"), assert = require("assert"), pad = require("left-pad");\ntest("pads", () => assert.equal(pad("5", 3, "0"), "005"));\ntest("older", () => assert.equal(require("left-pad/package.json").version, "1.1.3"));\ntest("is wrong", () => assert.equal(pad("5", 1), "6"));\ntest("later", { skip: true }, () => {});\n' >"$1/pad.test.js"
		;;
	go)
		printf 'module p.test/p\n\ngo 1.20\n\nrequire example.test/greeting v1.0.0\n' >"$1/go.mod"
		cat "$PACKAGE_INDEX/go.sum.v1.0.0" >"$1/go.sum"
		printf 'package p\n\nimport (\n\t"testing"\n\n\t"example.test/greeting"\n)\n\nfunc TestOlder(t *testing.T) {\n\tif greeting.Version != "v1.0.0" {\n\t\tt.Fatal(greeting.Version)\n\t}\n}\n\nfunc TestAgain(t *testing.T) {}\n\nfunc TestWrong(t *testing.T) { t.Fatal("no") }\n\nfunc TestLater(t *testing.T) { t.Skip() }\n' >"$1/p_test.go"
		;;
	java)
		printf '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>p</groupId><artifactId>p</artifactId><version>1</version><dependencies><dependency><groupId>test.example</groupId><artifactId>greeting</artifactId><version>1.0</version></dependency></dependencies></project>' >"$1/pom.xml"
		;;
	*) return 1 ;;
	esac
}
