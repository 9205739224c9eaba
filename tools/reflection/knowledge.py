"""The cue table, second half: claims, procedures and artifacts. Add a row, or a phrase to a row, to teach it more."""

from tools.reflection.cue_row import CLEAR, FAIR, SURE, WEAK, Row

ROWS: tuple[Row, ...] = (
    Row(
        "claim",
        SURE,
        "states a cause",
        """
        root|underlying|real|actual|main cause|reason|problem
        cause|reason|culprit|explanation|catch is|was|found|for
        turns|turned out
        caused by
        is|was the cause|reason|culprit|problem|bottleneck
        issue|problem|bug is|was that
        responsible for
        introduced in|by|with
        """,
    ),
    Row(
        "claim",
        CLEAR,
        "states what was found out",
        """
        we|i found|discovered|learned|learnt|noticed|realised|realized|confirmed|verified|measured that|out|the
        found|find|finding out that|the
        ^ found a|an|the|that
        means|mean that
        works|performs best|better|worse|worst
        only one|two|the|<number> ... can
        most|many|few|two|three|four|five|several of <number>|two|three|four|five|six|the|our|us
        discovered|learned|learnt|noticed|realised|realized|confirmed|verified|proved that
        happens|fails|crashes|breaks|occurs|appears|works|grows|reproduces|stops only? when|whenever|if|with|after|\
because|since|during|for
        only happens|fails|crashes|breaks|occurs|appears|works|become|becomes when|if|on|with|after
        fails|happens|occurs only
        makes|made no difference
        due to
        because of
        leads|led to
        results|resulted in
        explains why|the
        increased|decreased|reduced|improved|cut ... by|from|to <number>
        correlates|correlated with
        from <number> ... to|down|up <number>
        to|down|up <number> from <number>
        """,
    ),
    Row(
        "claim",
        FAIR,
        "gives a reason",
        """
        because|bc
        since the|it|we|our|they|an|a
        so|which|that's our|the|why
        which means|is|are|was
        """,
    ),
    Row(
        "claim",
        FAIR,
        "states how something behaves",
        """
        doesn't|don't|does|do not? support|work|expire|return|handle|scale|have|fit|reset|close|focus|know|accept|\
allow
        isn't|aren't|wasn't|weren't
        is|are|was|were not
        can't|cannot|can|could|couldn't only|not
        cannot|can't
        never|always|silently
        takes|took|costs|cost|loses|lost|gains|saves|halves|doubles about|around|roughly|at? <number>
        takes|costs|uses|needs|loses|leaks|blocks|eats|holds|consumes|weighs|cuts|accepts|ignores|keeps|retries|returns|\
sends|answers|expires|requires|breaks|crashes|supports
        has|have no|<number>
        is|are|was|were longer|shorter|bigger|smaller|faster|slower|higher|lower|better|worse|cheaper than|because|\
since
        is|are|was|were broken|limited|throttled|stale|missing|wrong|reset|parsed|killed|ignored|cached|blocked|\
called|created|printed|loaded|compact|disabled|enabled
        is|are|was <number>
        limit|maximum|minimum|default|quota is|are|was
        stay|stays|gets|get compact|stuck|slow|slower|empty
        makes|make|made ... useless|slow|slower|faster|impossible
        if|when|whenever|once the|it|a|an|two|something|one|they
        since <number>
        it|that|this|which logs|reads|writes|builds|reports|counts|leaves|matches|drops
        leak|leaks|depend|depends
        come|comes from
        calls|called <made>|on|every|by
        nobody|everyone|everybody uses|knows|reads|has
        is|are|was|were too|useless|flaky|expired|unreliable|confusing|misleading|incompatible|deprecated|outdated|\
unused
        is|are|was|were <participle> twice|every|after|before|while|when
        it's the
        half of the|our|all
        before they|it is|are
        too many|much|few|slow|big|heavy
        """,
    ),
    Row(
        "claim",
        WEAK,
        "states a figure",
        """
        profiler|profile|trace|logs|log|heap says|shows|show|said
        went|goes|dropped|fell|rose|grew|grows|jumped from|to
        duplicate of
        hit rate|ratio
        """,
    ),
    Row(
        "procedure",
        SURE,
        "says how it was or is done",
        """
        fixed|solved|resolved|repaired|recovered|cured it|this|that|... by|with
        fixed|solved|resolved by|with
        fix|solution|workaround|trick|remedy|cure is|was to
        to work around|round
        to get around
        right|correct|proper way to|is
        how to
        you can|have|need|must
        to fix|avoid|prevent|reset|restore|recover|reproduce|retrain|cancel|undo|find|get|see|enable|disable|stop|\
start|debug|test|deploy|rebuild , run|use|set|call|pass|open|do|add|stop|change|first
        """,
    ),
    Row(
        "procedure",
        CLEAR,
        "tells how to do it",
        """
        ^ to fix|avoid|prevent|reset|restore|recover|reproduce|retrain|cancel|undo|find|get|see|enable|disable|stop|\
start|debug|test|deploy|rebuild
        by <gerund> the|it|a|an|one|its|to|back|and|<made>
        ^ always|never <verb>
        ^ replaced|deduplicated|moved|swapped|changed|converted|wrapped|rewrote ... by|with
        run|use|set|call|open|pass|execute|type <code>|<path>
        frees|fixes|helps|solves|cures it|this|that|them
        helps|helped $
        solved|fixed|cured it|this|that $
        makes|made ... go away
        ^ setting|adding|removing|using|changing|switching|running|replacing|moving|raising|lowering|clearing ... ... \
brings|makes|helps|fixes|cuts|reduces|solves|works|stops|avoids|halves
        with|via|using <code>
        if|when|whenever|once , <verb>
        then|and restart|rerun|reload|redeploy|retry
        """,
    ),
    Row(
        "procedure",
        FAIR,
        "reads like instructions",
        """
        ^ run <made>|the|it|make|this|all|a
        ^ open|set|pull|push|click|select|pick|pass|start|stop|restart|enable|disable|install|configure|\
export
        ^ <code>
        before <gerund>
        before you
        can be ... with|by
        first ... then
        works if you
        use ... instead
        """,
    ),
    Row(
        "artifact",
        SURE,
        "names something that was made",
        """
        opened|created|wrote|pushed|published|uploaded|generated|drafted|filed|raised|submitted|made|saved|exported|\
committed|added|recorded|built ... ... <url>|<path>|<ref>
        created|wrote|pushed|added|generated ... <code>
        pr|mr|patch|report|draft|doc|document|slides|dashboard|recording|screenshots|spec|adr|checkpoint|branch|\
diagram|prototype is|are|was? up|here|ready|at|in|on|under|open? ... <made>
        """,
    ),
    Row(
        "artifact",
        CLEAR,
        "says where something lies",
        """
        pr|mr|patch|report|draft|doc|document|slides|dashboard|recording|numbers|traces|photos|results|screenshots|\
code|script|notebook|notes|spec|adr|examples|requests|checkpoint|branch|diagram|plots|data|model|weights is|are|\
live|lie|lies? in|at|under|on|here? <url>|<path>
        is|are|lives|lies|live|lie in|at|under <url>|<path>
        ticket|issue|task is|was <ref>
        pushed|opened|merged|published|released <made>|branch|feature
        here's|here is? the|my|a? ... <made>
        """,
    ),
    Row(
        "artifact",
        FAIR,
        "names a place",
        """
        ^ <url>
        ^ <ref> $
        ^ <path> $
        see <url>|<path>
        """,
    ),
)
