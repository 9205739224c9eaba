"""`engrain eval release-notes`: breaking changes of the notes of public repositories, against labels by hand."""
