from evals.bench.texts import questions, records


def test_records_are_distinct_realistic_in_length_and_the_same_each_time() -> None:
    made = records(300)
    assert made == records(300)
    assert not {record.content for record in made} & {record.content for record in records(50, seed=8)}
    assert len({record.content for record in made}) == 300
    assert len({record.name for record in made}) == 300
    assert all(len(record.name) <= 120 for record in made)
    lengths = [len(record.content.split()) for record in made]
    assert min(lengths) >= 30
    assert max(lengths) <= 100
    assert 60 <= sum(lengths) / len(lengths) <= 100


def test_questions_are_distinct_and_taken_from_the_records() -> None:
    made = records(100)
    asked = questions(made, 200)
    assert len(set(asked)) == 200
    assert asked == questions(made, 200)
