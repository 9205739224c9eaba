"""The cue table, first half: decisions, plans, tasks and ideas. Add a row, or a phrase to a row, to teach it more."""

from tools.reflection.cue_row import CLEAR, FAIR, SURE, WEAK, Row

ROWS: tuple[Row, ...] = (
    Row(
        "decision",
        SURE,
        "states a choice that was made",
        """
        we|i|they|team|group|everyone|everybody|board|customer|client|legal have|has|had? finally|already|also|all|\
both|then? decided|agreed|chose|opted|settled
        decided|agreed|opted to|on|not|against|for|that|in|it|we
        decided|agreed with|w ... we|that|to|manifest
        was|were|is|been decided|agreed that|to|on|not
        decision is|was to|that|against|for
        settled on|for
        made the decision|call to
        ruled out
        in the end we|i|everybody|everyone
        ended up with|using|choosing|going|keeping
        consensus is|was|that
        standardising|standardizing|standardised|standardized on
        signed off on
        """,
    ),
    Row(
        "decision",
        CLEAR,
        "states a choice",
        """
        going|go|goes|went|gone with|for
        are|is therefore|thus|hence
        sticking|stick|stay|staying|stuck|keep|keeping with|on|to|using|the
        we're|are moving|switching|migrating ... to|from|off|away|over
        we're|are dropping|keeping|retiring|removing|replacing|deprecating|freezing|skipping|cutting
        chose|chosen|picked|selected to|the|a|an|not|over
        let's|lets go|do|use|keep|drop|stick|take|not|leave|make|skip
        switched|moved|changed to ... rather|instead
        we drop|keep|freeze|skip|stay|stick|stop|use
        we'll go|use|keep|stay|stick with|on|to|the|a
        we will go|use|keep|stay|stick with|on|to|the|a
        postponed|deferred|parked|shelved until|to|for|the
        reverted to|back
        moved|pushed|shifted to monday|tuesday|wednesday|thursday|friday|next
        on hold
        disabled|stopped|paused|killed|kept|silenced ... ... for now
        turned it|that|this off|on for
        customer|client|legal|board|management has|have accepted|approved|agreed
        customer|client|legal|board|management|committee approves|accepts|agrees|chooses|rejects
        """,
    ),
    Row(
        "decision",
        CLEAR,
        "rules something out",
        """
        we|i will not|never
        we|i won't
        ^ won't|wontfix fix|do|support|implement|be?
        not going to
        we no longer
        no more|longer|any ... from|since
        not part of
        out of scope
        """,
    ),
    Row(
        "decision",
        CLEAR,
        "sets a rule from now on",
        """
        from now on
        going forward
        until further notice
        effective immediately
        until then i|we
        from next sprint|week|month|quarter|release on
        """,
    ),
    Row(
        "decision",
        FAIR,
        "prefers one thing to another",
        """
        rather than
        instead of
        rejected|dropped|decided|chosen ... in favour|favor of
        ^ no ... on|before|after|during|until monday|tuesday|wednesday|thursday|friday|the|next|further
        """,
    ),
    Row(
        "decision",
        WEAK,
        "sounds like a rule or a choice",
        """
        we don't
        we do not
        for now i|we|i'll|we'll
        accepted|approved as|for|by
        will use
        are|is versioned|kept|stored|get|gets only|for|in
        """,
    ),
    Row(
        "plan",
        SURE,
        "states a plan",
        """
        the|our|my plan is|was|for
        we|i plan|intend|aim to|for
        ^ working|continuing on ... this|today|tomorrow|next
        planning|planned|intending|aiming to|for|in
        next step|steps is|are|will
        aiming|targeting for|the|a|<number>
        """,
    ),
    Row(
        "plan",
        CLEAR,
        "says what will be done",
        """
        we'll
        we will|shall
        we're|are|am|i'm going to
        ^ going to
        tomorrow|today we|i|we'll|i'll|i'm|we're
        next|this week|sprint|month|quarter|year we|i|we'll|i'll
        tomorrow|today start|starting|continue|continuing|on|working
        ^ today|tomorrow
        roll-out|rollout|migration|release|launch|beta|alpha happens|starts|begins|is planned|in|on
        in|over two|three|four|several|<number> phases|waves|stages|steps
        is|are planned|scheduled for|in|on|to
        will be rolled|released|shipped|migrated|launched|moved
        when i'm|we're back
        we meet|continue|resume|start|begin|ship|launch|release|reconvene again? on|at|in|next|again|with|tomorrow
        goes|go|going out|live on|at|in|next
        go-live|release|launch|deadline|deployment is|stays|moves on|to|in|at
        follow-up|next call|meeting|sync|review|session|round|batch|run is? on|in|at|goes
        """,
    ),
    Row(
        "plan",
        FAIR,
        "says what comes next",
        """
        going to
        next up
        starts|begins|ships|launches|continues on|in|next|with|at
        it'll come|ship|launch|start|follow with|in|on|next
        will come|ship|launch|start|follow with|in|on|next
        ^ continue|start with|on
        """,
    ),
    Row(
        "task",
        SURE,
        "names something to be done",
        """
        todo
        fixme
        needs|need to be
        must|has|have be|to be done|rotated|changed|fixed|added|removed|updated
        action item
        still to do|be
        someone|somebody|anybody ... must|should|has|needs|will|please|to
        don't forget to
        remember to
        """,
    ),
    Row(
        "task",
        CLEAR,
        "asks somebody to do something",
        """
        please
        pls
        could|can|would|will you <verb>
        needs|need to
        needs|need ... review|test|tests|fix|owner|look|decision|check|cleanup|update|ticket|alert|rule|docs
        has|have|got|needs to
        gotta
        must
        follow|following up with|on
        make sure
        i'll <verb>
        i will <verb>
        was|is|are asked|supposed|meant to
        assigned to
        is|are to
        """,
    ),
    Row(
        "task",
        FAIR,
        "sounds like a to-do",
        """
        ^ will
        still missing|outstanding|pending|undone
        remains to
        missing test|tests|docs|documentation|check|handling
        should|must|needs|need to? be <participle>
        by|until|before|due monday|tuesday|wednesday|thursday|friday|tomorrow|tonight|eod|eow
        ticket|issue <ref>? for
        same ... check
        """,
    ),
    Row(
        "task",
        FAIR,
        "says what ought to be done",
        """
        should <verb>
        """,
    ),
    Row(
        "idea",
        SURE,
        "puts up an idea",
        """
        what if
        how about
        idea is|was|would|to
        another|alternative|other option|approach|way|idea is|would|might|could
        i|we|was wonder|wondering|wondered if|whether
        ^ wonder|wondering if|whether|about
        why not
        why don't|not we
        we|i should
        """,
    ),
    Row(
        "idea",
        CLEAR,
        "says what could be done",
        """
        we|one|you|i|they could|might
        could|might also|just|even|use|try|be|have|add|move|split|cache|replace|make|do|help|work|as|ask|keep
        might|may|could|would be worth|nice|interesting|cool|good|useful|helpful|better|possible|great
        worth trying|a|exploring|considering|looking|it
        maybe|perhaps we|i|use|try|add|just|it|a|an|the
        suggested|suggest|suggests|proposed|propose|proposes|suggestion
        thinking|thought about|of
        alternatively
        would|might|could make sense
        would|might help|allow|let
        it'd be nice|good|great|cool|useful|better|easier
        it would be nice|good|great|cool|useful|better|easier
        shouldn't|couldn't|can't we|i
        should we|i rather|maybe|just|also|better
        might|may want to
        would love|like to
        worth a try|look|shot
        could we|one <verb>
        have you considered|tried|thought
        maybe|perhaps <verb>
        nice to have
        ^ or a|an|the|maybe|just
        """,
    ),
    Row(
        "idea",
        FAIR,
        "leaves it open",
        """
        maybe
        perhaps
        could
        consider|considering
        ^ let people|users|them|us
        ideally
        ^ what about
        """,
    ),
)
