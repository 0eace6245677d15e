/* Work beside its prediction: what a plan would take, what a run took, and what either costs at the prices told. */
#include "cli/cli.h"

firn_status cli_work_begin(struct firn_op *op, struct cli *cli, struct firn_work predicted, struct cli_work *out)
{
    *out = (struct cli_work){
        .predicted = predicted,
        .before = firn_session_work(cli->session),
        .started_ms = op->env->monotonic_ms(op->env->context),
    };
    FIRN_TRY(cli_usual_prices(op, cli, &out->prices));
    out->predicted_seconds = firn_work_seconds(&out->prices, &predicted, firn_session_thread_count(cli->session));
    return FIRN_OK;
}

void cli_work_end(struct firn_op *op, const struct cli *cli, struct cli_work *work)
{
    work->actual = firn_work_since(firn_session_work(cli->session), work->before);
    work->actual_seconds = (double)(op->env->monotonic_ms(op->env->context) - work->started_ms) / 1000;
}

json_t *cli_estimate_json(const struct cli_work *work)
{
    return firn_work_json(&work->prices, &work->predicted, work->predicted_seconds);
}

firn_status cli_print_plan_json(struct firn_op *op, struct cli *cli, json_t *json, const struct cli_work *work)
{
    json_object_set_new(json, "estimate", cli_estimate_json(work));
    return cli_print_json(op, cli, json);
}

json_t *cli_work_json(const struct cli_work *work)
{
    json_t *json = json_object();
    json_object_set_new(json, "predicted", cli_estimate_json(work));
    json_object_set_new(json, "actual", firn_work_json(&work->prices, &work->actual, work->actual_seconds));
    return json;
}

struct firn_text cli_work_text(struct firn_arena *arena, const json_t *work)
{
    struct firn_prices prices = { .currency = cli_member_text(work, "currency") };
    double seconds = json_number_value(json_object_get(work, "seconds"));
    double money = json_number_value(json_object_get(work, "money"));
    struct firn_text text = FIRN_TEXT("");
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++) {
        const char *name = firn_request_name((enum firn_request)kind);
        int64_t count = cli_member_i64(work, name);
        if (count > 0)
            text = firn_text_format(arena, "%.*s%s%.*s %s", FIRN_FMT(text), text.len ? ", " : "",
                                    FIRN_FMT(cli_count_text(arena, count)), name);
    }
    return firn_text_format(arena, "requests: %.*s; %.*s read, %.*s written; %.*s; %.*s",
                            FIRN_FMT(text.len ? text : FIRN_TEXT("none")),
                            FIRN_FMT(cli_bytes_text(arena, (uint64_t)cli_member_i64(work, "bytes_read"))),
                            FIRN_FMT(cli_bytes_text(arena, (uint64_t)cli_member_i64(work, "bytes_written"))),
                            FIRN_FMT(cli_duration_text(arena, (int64_t)(seconds * 1000))),
                            FIRN_FMT(firn_money_text(arena, &prices, money)));
}

void cli_print_estimate(struct firn_op *op, struct cli *cli, const struct cli_work *work)
{
    if (firn_work_requests(&work->predicted) == 0)
        return;
    json_t *json = cli_estimate_json(work);
    fprintf(cli->out, "predicted: %.*s\n", CLI_FMT(cli, cli_work_text(op->arena, json)));
    json_decref(json);
}

void cli_print_work(struct firn_op *op, struct cli *cli, const struct cli_work *work)
{
    if (firn_work_requests(&work->predicted) + work->actual.requests[FIRN_REQUEST_PUT] == 0)
        return;
    json_t *json = cli_work_json(work);
    cli_print_work_pair(op, cli, "", json_object_get(json, "predicted"), json_object_get(json, "actual"));
    json_decref(json);
}

void cli_print_work_pair(struct firn_op *op, struct cli *cli, const char *indent, const json_t *predicted,
                         const json_t *actual)
{
    fprintf(cli->out, "%spredicted: %.*s\n", indent, CLI_FMT(cli, cli_work_text(op->arena, predicted)));
    fprintf(cli->out, "%sactual:    %.*s\n", indent, CLI_FMT(cli, cli_work_text(op->arena, actual)));
}
