{{/* The labels of an object for somebody's Prometheus or Grafana, from (list . LABELS). */}}
{{- define "trimtab.monitoringLabels" -}}
{{- include "trimtab.labels" (index . 0) }}
{{- with index . 1 }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The groups of files/rules.yaml with what monitoring.rules sets. */}}
{{- define "trimtab.ruleGroups" -}}
{{- $set := .Values.monitoring.rules }}
{{- $groups := list }}
{{- range $group := (.Files.Get "files/rules.yaml" | fromYaml).groups }}
{{- $rules := list }}
{{- range $rule := $group.rules }}
{{- $own := get $set.alerts $rule.alert | default dict }}
{{- $canary := or (ne $rule.alert "TrimtabCanaryFails") $.Values.canary.enabled }}
{{- if and $canary (ne (toString $own.enabled) "false") }}
{{- $rules = append $rules (include "trimtab.rule" (list $rule $own $set.runbookURL) | fromYaml) }}
{{- end }}
{{- end }}
{{- with $rules }}
{{- $groups = append $groups (dict "name" $group.name "rules" .) }}
{{- end }}
{{- end }}
{{- toYaml $groups }}
{{- end }}

{{/* One alert with its own values, from (list RULE VALUES RUNBOOK-URL). */}}
{{- define "trimtab.rule" -}}
{{- $rule := index . 0 }}
{{- $own := index . 1 }}
{{- with $own.for }}{{ $_ := set $rule "for" . }}{{ end }}
{{- with $own.severity }}{{ $_ := set $rule.labels "severity" . }}{{ end }}
{{- if hasKey $own "threshold" }}
{{- if not (regexMatch "[<>] [0-9.]+$" $rule.expr) }}
{{- fail (printf "monitoring.rules.alerts.%s.threshold: this alert has none" $rule.alert) }}
{{- end }}
{{- $_ := set $rule "expr" (regexReplaceAll "[0-9.]+$" $rule.expr (toString $own.threshold)) }}
{{- end }}
{{- with index . 2 }}
{{- $anchor := $rule.annotations.runbook_url | splitList "#" | last }}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s#%s" . $anchor) }}
{{- end }}
{{- toYaml $rule }}
{{- end }}
