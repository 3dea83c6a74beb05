#!/usr/bin/env python3
"""The three dashboards, described; their JSON is made of this with Grafana's own types (grafana-foundation-sdk, pinned in
deploy/install_dependencies.sh).

    .venv/bin/python deploy/grafana/dashboards.py          writes dashboards/*.json
    .venv/bin/python deploy/grafana/dashboards.py --check  exit status 1 where one of them is stale
"""
import dataclasses
import json
import pathlib
import re
import sys

from grafana_foundation_sdk.builders import common as shared
from grafana_foundation_sdk.builders import dashboard as dashboards
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, statetimeline, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

FOLDER = pathlib.Path(__file__).resolve().parent / "dashboards"
SOURCE = models.DataSourceRef(type_val="prometheus", uid="sassay-prometheus")
GPU = "{{Hostname}} {{gpu}} {{UUID}}"
# sassay_gpu_state, as docs/metrics.md says.
STATES = {0: ("unknown", "gray"), 1: ("healthy", "green"), 2: ("suspect", "yellow"), 3: ("cooling", "orange"),
          4: ("quarantined", "red"), 5: ("paused", "blue")}


@dataclasses.dataclass
class Panel:
    """One panel: queries with their legends. Kinds: lines, stack, states, number, heat."""
    title: str
    queries: dict
    unit: str = "short"
    kind: str = "lines"
    width: int = 12
    height: int = 8
    what: str = ""
    from_zero: bool = True


GPU_STATE = Panel("State", {"sassay_gpu_state{$gpus}": GPU}, kind="states", width=24, height=7,
                  what="What the monitor does with each GPU. Cooling and quarantined ones take no work.")


def gpu_panels():
    """Those that fleet and one GPU share; $gpus is replaced by the selector of the dashboard."""
    return [
        Panel("Temperature", {"sassay_gpu_temperature_celsius{$gpus}": GPU}, "celsius", from_zero=False),
        Panel("Margin to the slowdown limit", {"sassay_gpu_thermal_margin_celsius{$gpus}": GPU}, "celsius",
              what="At 0 the GPU slows down.", from_zero=False),
        Panel("SM clock", {"sassay_gpu_sm_clock_hertz{$gpus}": GPU}, "hertz",
              what="Falls under full load because of the power limit; that is not heat."),
        Panel("Reasons for the clock", {"sum by (reason) (sassay_gpu_clock_reason{$gpus})": "{{reason}}"}, kind="stack",
              what="GPUs for which NVML gives the reason. hw_slowdown, sw_thermal, hw_thermal and hw_power_brake void "
                   "timings; sw_power_cap is normal at full load."),
        Panel("Share of the time held down", {"sassay:gpu_slowdown:ratio1m{$gpus}": GPU + " {{cause}}"}, "percentunit"),
        Panel("Power", {"sassay_gpu_power_watts{$gpus}": GPU, "sassay_gpu_power_limit_watts{$gpus}": GPU + " limit"}, "watt"),
        Panel("Canary over healthy", {"sassay_canary_ratio{$gpus}": GPU + " {{kernel}}"}, "percentunit",
              what="The canary's kernels over what is healthy for this GPU. Above 103 % an incident opens.", from_zero=False),
        Panel("Healthy through, lag", {"sassay_gpu_healthy_through_lag_seconds{$gpus}": GPU}, "s",
              what="Timings younger than this are still PROVISIONAL."),
    ]


FLEET = [
    Panel("GPUs", {"count(sassay_gpu_state)": ""}, kind="number", width=4, height=4),
    Panel("Taking no work", {"count(sassay_gpu_state > 2) or vector(0)": ""}, kind="number", width=4, height=4),
    Panel("Open incidents", {"sum(sassay_incidents_open) or vector(0)": ""}, kind="number", width=4, height=4),
    Panel("Monitor hears the service", {"min(sassay_monitor_service_up)": ""}, kind="number", width=4, height=4),
    Panel("Slowest source", {"max(sassay_monitor_source_silent_seconds)": ""}, "s", kind="number", width=4, height=4),
    Panel("Age of the monitor's decisions", {"max(sassay_monitor_decision_age_seconds)": ""}, "s", kind="number", width=4, height=4),
    GPU_STATE,
    *gpu_panels(),
    Panel("Held by", {"sassay_gpu_held": "{{UUID}} {{holder}}"}, kind="states",
          what="1: the holder keeps the GPU from taking work. The monitor never ends an operator's hold."),
    Panel("Open incidents", {"sum by (UUID, rule, severity) (sassay_incidents_open) or vector(0)": "{{severity}} {{rule}} {{UUID}}"},
          kind="stack"),
    Panel("Incidents of the last 10 minutes", {"sum by (rule, severity) (sassay:incidents:increase10m) or vector(0)": "{{severity}} {{rule}}"},
          kind="stack"),
    Panel("What the monitor did in the last 10 minutes", {"sum by (kind, outcome) (sassay:monitor_actions:increase10m) or vector(0)": "{{kind}} {{outcome}}"},
          kind="stack"),
    Panel("Xids of the last 10 minutes", {"sum by (UUID, xid) (sassay:gpu_xids:increase10m) or vector(0)": "{{UUID}} Xid {{xid}}"},
          kind="stack"),
]

SERVICE = [
    Panel("Queue", {"sassay_queue_depth": "waiting", "sassay_submissions_running": "running"}),
    Panel("Verdicts per second", {"sum by (status) (rate(sassay_submissions_finished_total[$__rate_interval]))": "{{status}}"},
          "ops", "stack", what="INFRA_ERROR is our fault, never the candidate's."),
    Panel("Latency of $stage", {"sum by (le) (increase(sassay_stage_seconds_bucket{stage=~\"$stage\"}[$__rate_interval]))": "{{le}}"},
          "s", "heat"),
    Panel("Latency by stage", {"sassay:stage_seconds:p50_5m": "{{stage}} median", "sassay:stage_seconds:p95_5m": "{{stage}} 95 %"}, "s"),
    Panel("Device time", {"sum by (stage) (rate(sassay_gpu_seconds_total[$__rate_interval]))": "{{stage}}"}, "percentunit", "stack",
          what="Seconds for which devices were held, per second, by stage."),
    Panel("Stages that could not run", {"sum by (stage) (rate(sassay_stages_unavailable_total[$__rate_interval]))": "{{stage}}"}, "ops",
          "stack", what="UNAVAILABLE: on the emulated device timing always is."),
    Panel("Runners started", {"sum by (mode) (rate(sassay_runners_started_total[$__rate_interval]))": "{{mode}}"}, "ops", "stack"),
    Panel("Workers that died", {"increase(sassay_judge_deaths_total[$__rate_interval])": "judges",
                                "increase(sassay_runner_deaths_total[$__rate_interval])": "runners"}),
    Panel("Inputs and answers found ready", {"sum by (instance) (rate(sassay_judge_states_total{origin=\"kept\"}[$__rate_interval])) / sum by (instance) (rate(sassay_judge_states_total[$__rate_interval]))": "{{instance}}"},
          "percentunit", what="Cache hits of the judge's workload state."),
    Panel("Attempts made again", {"rate(sassay_submissions_retried_total[$__rate_interval])": "our own trouble"}, "ops"),
    Panel("Turns excluded", {"sum by (rerun) (increase(sassay_turns_excluded_total[$__rate_interval]))": "run again: {{rerun}}"}, kind="stack",
          what="Because of an incident on their GPU; never the candidate's failure."),
    Panel("Timings that are not final", {"sassay_timings_provisional": "provisional",
                                         "increase(sassay_timings_settled_total{watched=\"no\"}[$__rate_interval])": "settled unwatched"}),
    Panel("Watched", {"sassay_monitor_watching": "a monitor watches"}),
    Panel("Refused calls", {"sum by (code) (rate(sassay_rpcs_refused_total[$__rate_interval])) or vector(0)": "{{code}}"}, "ops", "stack"),
    Panel("Nodes", {"max by (state) (sassay_nodes) or vector(0)": "{{state}}"},
          what="Silent: not heard of for ten seconds, and had not said that it leaves. All front ends of one store tell the same."),
    Panel("Signs of life", {"max(sassay_node_silence_seconds) or vector(0)": "longest ago",
                            "count(sassay_node_heard < 1) or vector(0)": "nodes that nobody hears"},
          what="Of living nodes, in seconds; and nodes that say themselves that no front end hears them."),
    Panel("Builds", {"sum(sassay_builds_running) or vector(0)": "running", "sum(sassay_builds_waiting) or vector(0)": "waiting",
                     "sum(sassay_builder_places) or vector(0)": "places"}, what="Of all builders."),
    Panel("Builds by outcome", {"sum by (outcome) (rate(sassay_builds_total[$__rate_interval])) or vector(0)": "{{outcome}}"}, "ops", "stack"),
    Panel("Database errors", {"increase(sassay_store_errors_total[$__rate_interval])": "errors"}),
    Panel("Kept for tenants", {"sassay_blob_bytes": "bytes"}, "bytes"),
    Panel("CPU", {"rate(process_cpu_seconds_total{job=~\"sassay-.*\"}[$__rate_interval])": "{{job}}"}, "percentunit"),
    Panel("Memory", {"process_resident_memory_bytes{job=~\"sassay-.*\"}": "{{job}}"}, "bytes"),
]

ONE_GPU = [
    GPU_STATE,
    *gpu_panels(),
    Panel("Busy", {"sassay_gpu_utilization_ratio{$gpus}": "a kernel ran"}, "percentunit"),
    Panel("Processes that are not ours", {"sassay_gpu_foreign_processes{$gpus}": "processes"}),
    Panel("Memory clock", {"sassay_gpu_memory_clock_hertz{$gpus}": "memory"}, "hertz"),
    Panel("Canary", {"sassay_canary_seconds{$gpus}": "{{kernel}}"}, "s"),
    Panel("ECC errors", {"sassay_gpu_ecc_errors_total{$gpus}": "{{kind}}"}),
    Panel("Rows to be remapped", {"sassay_gpu_row_remap{$gpus}": "{{kind}}"}),
    Panel("Xids of the last 10 minutes", {"sum by (xid) (sassay:gpu_xids:increase10m{$gpus}) or vector(0)": "Xid {{xid}}"}),
    Panel("PCIe replays", {"increase(sassay_gpu_pcie_replays_total{$gpus}[$__rate_interval])": "replays"}),
]


def mappings():
    options = {str(value): models.ValueMappingResult(text=text, color=colour) for value, (text, colour) in STATES.items()}
    return [models.ValueMap(options=options)]


def styled(panel):
    if panel.kind == "states":
        return statetimeline.Panel().mappings(mappings() if panel is GPU_STATE else [])
    if panel.kind == "number":
        return stat.Panel()
    if panel.kind == "heat":
        colour = heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges").steps(64)
        return heatmap.Panel().color(colour).y_axis(heatmap.YAxisConfig().unit(panel.unit))
    lines = timeseries.Panel().min(0) if panel.from_zero else timeseries.Panel()
    return lines.fill_opacity(40).stacking(stacked()) if panel.kind == "stack" else lines


def stacked():
    return shared.StackingConfig().mode(common.StackingMode.NORMAL)


def build(number, panel, gpus):
    built = styled(panel).id(number).title(panel.title).unit(panel.unit).datasource(SOURCE).span(panel.width).height(panel.height)
    if panel.what:
        built = built.description(panel.what)
    for ref, (expr, legend) in zip("ABCDEF", panel.queries.items()):
        expr = re.sub(r"{\$gpus}", f"{{{gpus}}}" if gpus else "", expr)
        query = prometheus.Dataquery().expr(expr).legend_format(legend or "__auto").ref_id(ref).datasource(SOURCE)
        if panel.kind == "heat":
            query = query.format(PromQueryFormat.HEATMAP)
        built = built.with_target(query)
    return built


def incidents(selector):
    return (dashboards.AnnotationQuery().name("Incidents").datasource(SOURCE).enable(True).icon_color("red")
            .expr(f"sum by (UUID, rule, severity) (sassay_incidents_open{selector}) > 0"))


def choice(name, query, label, several):
    variable = dashboards.QueryVariable(name).label(label).datasource(SOURCE).query(query)
    return variable.multi(several).include_all(several).refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)


def dashboard(uid, title, panels, gpus="", variable=None, annotated=""):
    built = (dashboards.Dashboard(title).uid(uid).tags(["sassay"]).readonly().time("now-1h", "now").refresh("10s")
             .tooltip(models.DashboardCursorSync.CROSSHAIR).timezone("browser"))
    if variable is not None:
        built = built.with_variable(variable)
    built = built.annotation(incidents(annotated))
    for number, panel in enumerate(panels, 1):
        built = built.with_panel(build(number, panel, gpus))
    return built.build()


def all_dashboards():
    return {
        "fleet": dashboard("sassay-fleet", "Sassay: fleet", FLEET),
        "service": dashboard("sassay-service", "Sassay: service", SERVICE,
                             variable=choice("stage", "label_values(sassay_stage_seconds_count, stage)", "Stage", True)),
        "gpu": dashboard("sassay-gpu", "Sassay: one GPU", ONE_GPU, gpus='UUID="$UUID"', annotated='{UUID="$UUID"}',
                         variable=choice("UUID", "label_values(sassay_gpu_state, UUID)", "GPU", False)),
    }


def rendered(built):
    return json.dumps(built, cls=JSONEncoder, indent=1, sort_keys=True) + "\n"


def main():
    stale = []
    for name, built in all_dashboards().items():
        path = FOLDER / f"{name}.json"
        if "--check" not in sys.argv:
            path.write_text(rendered(built))
        elif not path.exists() or path.read_text() != rendered(built):
            stale.append(path)
    for path in stale:
        print(f"{path} is stale: run deploy/grafana/dashboards.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
