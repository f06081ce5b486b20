# Made by `formsvc completion powershell`.
Register-ArgumentCompleter -Native -CommandName formsvc -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # The words as they are written; nothing of the line is evaluated.
    $words = @()
    foreach ($element in $commandAst.CommandElements) {
        if ($element.Extent.StartOffset -ge $cursorPosition) { break }
        if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) {
            $words += $element.Value
        } else {
            $words += $element.Extent.Text
        }
    }
    $index = $words.Count
    if ("$wordToComplete" -ne '') {
        $index = $words.Count - 1
        $words[$index] = "$wordToComplete"
    }

    $asked = $env:FORMSVC_COMPLETE
    $place = $env:_CLAP_COMPLETE_INDEX
    try {
        $env:FORMSVC_COMPLETE = 'powershell'
        $env:_CLAP_COMPLETE_INDEX = "$index"
        $lines = @(& formsvc -- @words 2>$null)
    } finally {
        $env:FORMSVC_COMPLETE = $asked
        $env:_CLAP_COMPLETE_INDEX = $place
    }
    foreach ($line in $lines) {
        $value, $help = $line -split "`t", 2
        if (-not $help) { $help = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $help)
    }
}
