/*
 * bench exec: `true` in a box that is ready, the whole way: HTTP, row, runner, box, row, HTTP. One
 * client, one connection, a call each quarter of a second, each answered when the process has
 * ended: how long a call takes, not how many there could be.
 *
 *	test_exec [ROUNDS]       on the site that with-site names
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchsite.h"
#include "cleanup.h"
#include "json.h"
#include "text.h"

#define ROUNDS_MAX 10000
#define WARM 10
#define PAUSE_US 250000

static double exec_once(struct cli *cli, const char *session)
{
	struct json_object *body = json_new_object(), *argv = json_new_array();
	CLEANUP(json) struct json_object *reply = NULL;
	struct err err = {0};
	int64_t code = -1;
	double start, took;

	json_add_text(body, "session", session);
	json_push_text(argv, "true");
	json_add(body, "argv", argv);
	json_add_i64(body, "wait_ms", 20000);
	start = bench_now_ms();
	reply = bench_post(cli, "/exec.json", body);
	took = bench_now_ms() - start;
	if (!json_get_i64(reply, "exit_code", &code) || code) {
		(void)err_set(&err, ERR_UPSTREAM, "exec is %s, exit code %lld",
			cli_text(reply, "state"), (long long)code);
		bench_fail("exec", &err);
	}
	return took;
}

int main(int argc, char **argv)
{
	static double took[ROUNDS_MAX];
	int64_t rounds = 200;
	const char *session;
	double p50, p99;
	struct cli cli;

	if (argc > 1 && !text_to_i64(argv[1], 1, ROUNDS_MAX, &rounds)) {
		(void)fprintf(stderr, "usage: test_exec [ROUNDS]\n");
		return 2;
	}
	bench_open(&cli);
	session = bench_delegate(&cli, "true", 60000);
	bench_box_wait(&cli, session, "ready");
	for (int64_t i = -WARM; i < rounds; i++) {
		(void)usleep(PAUSE_US);
		took[i < 0 ? 0 : i] = exec_once(&cli, session);
	}
	p50 = bench_rank(took, (size_t)rounds, 50);
	p99 = bench_rank(took, (size_t)rounds, 99);
	(void)printf("bench exec ms_p50=%.1f ms_p99=%.1f ms_min=%.1f ms_max=%.1f n=%lld\n", p50,
		p99, took[0], took[rounds - 1], (long long)rounds);
	bench_teardown(&cli, session);
	bench_close(&cli);
	return 0;
}
