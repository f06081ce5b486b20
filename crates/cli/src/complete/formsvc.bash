# Made by `formsvc completion bash`.
_formsvc() {
    local words=("${COMP_WORDS[@]}") line
    # Up to the cursor only; but `=` stands alone when a value is about to begin.
    [[ ${words[COMP_CWORD]} == "=" ]] || words[COMP_CWORD]=$2
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(FORMSVC_COMPLETE=bash _CLAP_COMPLETE_INDEX="$COMP_CWORD" \
        formsvc -- "${words[@]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o default -o nosort -F _formsvc formsvc 2>/dev/null ||
    complete -o bashdefault -o default -F _formsvc formsvc
