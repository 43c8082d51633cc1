{{- define "trimtab.labels" -}}
app.kubernetes.io/name: trimtab
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "trimtab.selector" -}}
app.kubernetes.io/name: trimtab
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Refuses values that lack an image, and names all that are missing. */}}
{{- define "trimtab.requireImages" -}}
{{- $missing := list }}
{{- $needed := list "operator" "pipeline" "kafka" }}
{{- if .Values.prometheus.install }}{{ $needed = append $needed "prometheus" }}{{ end }}
{{- range $name := $needed }}
{{- if not (get $.Values.images $name) }}{{ $missing = append $missing (printf "images.%s" $name) }}{{ end }}
{{- end }}
{{- with $missing }}
{{- fail (printf "say where your images are: set %s (the README of the repository says how to build and push them)" (join ", " .)) }}
{{- end }}
{{- end }}

{{- define "trimtab.prometheusUrl" -}}
{{- if contains "@" (.Values.prometheus.url | default "") -}}
{{ fail "prometheus.url must not hold a login, which anybody could read in the Deployment: put it into a Secret, and name it in prometheus.basicAuth.secretName" }}
{{- else if .Values.prometheus.url -}}
{{ .Values.prometheus.url }}
{{- else if .Values.prometheus.install -}}
{{- if .Values.prometheus.matchers }}{{ fail "prometheus.matchers is for a Prometheus of your own: the small one holds these series only" }}{{ end -}}
http://{{ .Release.Name }}-prometheus.{{ .Release.Namespace }}.svc:9090
{{- else -}}
{{ fail "say where Prometheus is: prometheus.url=http://..., or prometheus.install=true for a small one" }}
{{- end -}}
{{- end }}

{{/* The names of a list of objects, comma separated. */}}
{{- define "trimtab.names" -}}
{{- $names := list }}
{{- range . }}{{ $names = append $names .name }}{{ end }}
{{- join "," $names }}
{{- end }}

{{/* JSON of the ids that pods run with; what is null is left out. */}}
{{- define "trimtab.podUser" -}}
{{- $ids := dict }}
{{- range $field, $id := .Values.podSecurityContext }}
{{- if not (kindIs "invalid" $id) }}{{ $_ := set $ids $field (int64 $id) }}{{ end }}
{{- end }}
{{- toJson $ids }}
{{- end }}

{{- define "trimtab.podSecurity" -}}
{{- dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") | merge (include "trimtab.podUser" . | fromJson) | toYaml }}
{{- end }}

{{- define "trimtab.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* What the operator may do in a namespace. It holds what it grants to drivers. */}}
{{- define "trimtab.rules" -}}
- apiGroups: [trimtab.dev]
  resources: [streampipelines, kafkaclusters]
  verbs: [get, list, watch]
- apiGroups: [trimtab.dev]
  resources: [tuningpolicies]
  verbs: [list, watch]
- apiGroups: [trimtab.dev]
  resources: [streampipelines/status, kafkaclusters/status, tuningpolicies/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [create, get, list, watch, patch, delete, deletecollection]
- apiGroups: [""]
  resources: [configmaps, serviceaccounts]
  verbs: [create, get, list, watch, patch, delete]
# Passed on to drivers, for what their pipelines name: the admission policy asks for it.
# Kubernetes itself has no such verb, so nobody can read a Secret with it.
- apiGroups: [""]
  resources: [secrets, configmaps, persistentvolumeclaims]
  verbs: [mount]
- apiGroups: [""]
  resources: [services]
  verbs: [create, get, list, watch, patch, update, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, get, list, watch, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [create, get, list, watch, patch, update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [create, get, list, watch, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [create, get, list, watch, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, get, list, watch, patch, update, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [create, get, list, watch, patch, delete]
# Of Strimzi, for pipelines that name one of its Kafkas; limits.topicPartitions takes the patch.
- apiGroups: [kafka.strimzi.io]
  resources: [kafkas, kafkausers]
  verbs: [get]
- apiGroups: [kafka.strimzi.io]
  resources: [kafkatopics]
  verbs: [get, patch]
{{- end }}

{{/* What it may do besides if KafkaClusters may have spec.security: their certificates and logins. */}}
{{- define "trimtab.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create, get, patch]
{{- end }}

{{/* What it may do besides where it watches all namespaces. */}}
{{- define "trimtab.clusterRules" -}}
- apiGroups: [trimtab.dev]
  resources: [clustertuningpolicies]
  verbs: [list, watch]
- apiGroups: [trimtab.dev]
  resources: [clustertuningpolicies/status]
  verbs: [patch]
{{- end }}

{{/* Who may read metrics: JSON of peers of a NetworkPolicy; none: everybody. */}}
{{- define "trimtab.metricsFrom" -}}
{{- $peers := .Values.networkPolicy.metricsFrom }}
{{- if .Values.prometheus.install }}
{{- $home := dict "kubernetes.io/metadata.name" .Release.Namespace }}
{{- $labels := merge (dict "app.kubernetes.io/component" "prometheus") (include "trimtab.selector" . | fromYaml) }}
{{- $small := dict "namespaceSelector" (dict "matchLabels" $home) "podSelector" (dict "matchLabels" $labels) }}
{{- $peers = prepend $peers $small }}
{{- end }}
{{- toJson $peers }}
{{- end }}

{{/* What the operator makes NetworkPolicies of, as it reads it. */}}
{{- define "trimtab.networkPolicies" -}}
{{- with .Values.networkPolicy }}
{{- $readers := include "trimtab.metricsFrom" $ | fromJsonArray }}
{{- if and $readers $.Values.operator.directReads.enabled }}
{{- $home := dict "kubernetes.io/metadata.name" $.Release.Namespace }}
{{- $labels := merge (dict "app.kubernetes.io/component" "operator") (include "trimtab.selector" $ | fromYaml) }}
{{- $readers = append $readers (dict "namespaceSelector" (dict "matchLabels" $home) "podSelector" (dict "matchLabels" $labels)) }}
{{- end }}
{{- $said := dict "metricsFrom" $readers "kafkaFrom" .kafkaFrom }}
{{- with .sparkUIFrom }}{{ $_ := set $said "sparkUIFrom" . }}{{ end }}
{{- if .egress.restrict }}
{{- $_ := set $said "egress" (dict "apiServer" .egress.apiServer "allow" .egress.allow) }}
{{- end }}
{{- toJson $said }}
{{- end }}
{{- end }}

{{- define "trimtab.prometheusRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
{{- end }}

{{/* Where the admission policies hold. */}}
{{- define "trimtab.policyScope" -}}
{{- with .Values.watchNamespaces -}}
matchResources:
  namespaceSelector:
    matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }}}
{{- end }}
{{- end }}
