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

/* "12 GET, 3 PUT; reads 1.2 MiB, writes 400.0 KiB; 0.3 s; 0.0001 USD". */
static struct firn_text work_text(struct firn_arena *arena, const struct firn_prices *prices,
                                  const struct firn_work *work, double seconds)
{
    static const char *const names[FIRN_REQUEST_COUNT] = { "GET", "PUT", "LIST", "DELETE" };
    struct firn_text text = FIRN_TEXT("");
    for (int kind = 0; kind < FIRN_REQUEST_COUNT; kind++)
        if (work->requests[kind] > 0)
            text = firn_text_format(arena, "%.*s%s%.*s %s", FIRN_FMT(text), text.len ? ", " : "",
                                    FIRN_FMT(cli_count_text(arena, work->requests[kind])), names[kind]);
    if (text.len == 0)
        text = FIRN_TEXT("no requests");
    return firn_text_format(arena, "%.*s; %.*s read, %.*s written; %.*s; %.*s", FIRN_FMT(text),
                            FIRN_FMT(cli_bytes_text(arena, (uint64_t)work->bytes_read)),
                            FIRN_FMT(cli_bytes_text(arena, (uint64_t)work->bytes_written)),
                            FIRN_FMT(cli_duration_text(arena, (int64_t)(seconds * 1000))),
                            FIRN_FMT(firn_money_text(arena, prices, firn_work_money(prices, work, seconds))));
}

void cli_print_estimate(struct firn_op *op, struct cli *cli, const struct cli_work *work)
{
    if (firn_work_requests(&work->predicted) == 0)
        return;
    struct firn_text text = work_text(op->arena, &work->prices, &work->predicted, work->predicted_seconds);
    fprintf(cli->out, "would take about %.*s\n", FIRN_FMT(text));
}

void cli_print_work(struct firn_op *op, struct cli *cli, const struct cli_work *work)
{
    if (firn_work_requests(&work->predicted) + work->actual.requests[FIRN_REQUEST_PUT] == 0)
        return;
    struct firn_text predicted = work_text(op->arena, &work->prices, &work->predicted, work->predicted_seconds);
    struct firn_text actual = work_text(op->arena, &work->prices, &work->actual, work->actual_seconds);
    fprintf(cli->out, "predicted: %.*s\nactual:    %.*s\n", FIRN_FMT(predicted), FIRN_FMT(actual));
}
